import { Stalled } from '../errors.ts';
import type { ServerSpec } from './server-spec.ts';

/** Lists what several replicas with an authorization server must share besides sessions. */
function missingForAuthServer(config: ServerSpec['authServerConfig']): string[] {
  if (!config) return [];
  return [
    ...(config.storage.type === 'redis' ? [] : ['authServerConfig.storage.type redis']),
    ...(config.signingKeySecretRefs?.length ? [] : ['authServerConfig.signingKeySecretRefs']),
    ...(config.hmacSecretRefs?.length ? [] : ['authServerConfig.hmacSecretRefs']),
  ];
}

/** Returns whether sessions, logins or keys exist in one process only and are lost with it. */
export function keepsStateInProcess(spec: ServerSpec): boolean {
  const storage = spec.sessionStorage ?? spec.config.sessionStorage;
  return storage?.provider !== 'redis' || missingForAuthServer(spec.authServerConfig).length > 0;
}

/** Verifies that several replicas share stores and keys. @throws Stalled */
export function checkReplicas(spec: ServerSpec): void {
  const most = spec.autoscaling?.maxReplicas ?? spec.replicas ?? 1;
  if (most <= 1) return;
  const storage = spec.sessionStorage ?? spec.config.sessionStorage;
  const missing = [
    ...(storage?.provider === 'redis' ? [] : ['sessionStorage.provider redis']),
    ...missingForAuthServer(spec.authServerConfig),
  ];
  if (missing.length === 0) return;
  const message = `${most} replicas need ${missing.join(' and ')}: write it, or run one replica`;
  throw new Stalled('ReplicasNeedSharedState', message);
}
