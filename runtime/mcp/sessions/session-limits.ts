import type { IncomingMessage } from 'node:http';
import { addressBucket } from '#lib/connections/address-bucket';
import { DEFAULTS } from '#crds/parts/defaults';
import type { RunConfig } from '#crds/run-config/run-config';
import type { ReadSource } from '#runtime/http/read-source';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Identity } from '#runtime/incoming/identity';

export interface SessionLimits {
  /** Milliseconds without use after which a session ends. */
  readonly idle: number;
  readonly perPrincipal: number;
  readonly perReplica: number;
  /** Milliseconds; a younger session is not evicted. */
  readonly evictableAfter: number;
}

export const EVICTABLE_AFTER = 60_000;

/** Anonymous callers have a limit of their own only if it is configured. */
export function sessionLimits(
  { limits, incoming }: Pick<RunConfig, 'limits' | 'incoming'>,
  evictableAfter = EVICTABLE_AFTER,
): SessionLimits {
  const byDefault = incoming.type === 'anonymous' ? limits.sessions_per_replica : DEFAULTS.sessionsPerPrincipal;
  return {
    idle: limits.session_idle,
    perPrincipal: limits.sessions_per_principal ?? byDefault,
    perReplica: limits.sessions_per_replica,
    evictableAfter,
  };
}

interface CountingDeps {
  readonly config: Pick<RunConfig, 'limits'>;
  readonly readSource: ReadSource;
}

/** The principal. For anonymous callers with a configured limit, one address (IPv6: one /64). */
export function countedFor(identity: Identity, req: IncomingMessage, { config, readSource }: CountingDeps): string {
  if (identity !== ANONYMOUS || config.limits.sessions_per_principal === undefined) return identity.key;
  return JSON.stringify([identity.key, addressBucket(readSource(req))]);
}
