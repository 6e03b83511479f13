/** Defaults that a resource and the run configuration share. Durations are strings, sizes are bytes. */
export const DEFAULTS = {
  accessTokenLifespan: '1h',
  refreshTokenLifespan: '168h',
  authCodeLifespan: '10m',
  assertionLifetime: '10m',
  revalidateAfter: '1h',
  scopesSupported: ['mcp', 'offline_access'],
  registrationsPerMinute: 10,
  registeredClients: 10_000,
  pendingLogins: 10_000,
  pendingLoginLifespan: '10m',
  callTimeout: '60s',
  callMaximum: '1h',
  healthCheckInterval: '30s',
  healthCheckTimeout: '5s',
  unhealthyThreshold: 3,
  breakerFailureThreshold: 5,
  breakerTimeout: '60s',
  concurrencyPerBackend: 256,
  concurrencyQueue: 1024,
  sessionIdle: '30m',
  sessionsPerPrincipal: 100,
  sessionsPerReplica: 10_000,
  listDeadline: '5s',
  connectTimeout: '3s',
  maxRequestBytes: 4_194_304,
  maxResponseBytes: 104_857_600,
  bufferedBytes: 134_217_728,
  jwksMaxAge: '5m',
  jwksCooldown: '30s',
  introspectionCache: '30s',
  maxNameLength: 60,
  prefixFormat: '{workload}_',
  webhookTimeout: '10s',
  remoteLoginTimeout: '5m',
  redisDialTimeout: '5s',
  redisReadTimeout: '3s',
  redisWriteTimeout: '3s',
} as const;

/** Days after which every login ends, however often its tokens are renewed. */
export const LONGEST_LOGIN_DAYS = 30;

/** Longest lifetime of an assertion of an identity provider. */
export const LONGEST_ASSERTION_HOURS = 1;

export const KUBERNETES_AUDIENCE = 'toolhive';
/** Issuer of service account tokens if the cluster's own issuer is unknown. */
export const KUBERNETES_ISSUER = 'https://kubernetes.default.svc';

/** Secret of the management API's values in a cluster; on one machine, the secrets provider replaces it. No child has this name. */
export const STORED_SECRET = 'vmcp-secrets';
