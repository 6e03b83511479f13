import type { RunConfig } from '#crds/run-config/run-config';
import type { SessionLimits } from './session-store.ts';

/** The bounds of sessions that a run configuration sets. */
export function sessionLimits({ limits }: Pick<RunConfig, 'limits'>): SessionLimits {
  return {
    idle: limits.session_idle,
    perPrincipal: limits.sessions_per_principal,
    perReplica: limits.sessions_per_replica,
  };
}
