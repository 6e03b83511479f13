import type { Backend as BackendConfig, HttpBackend as HttpBackendConfig } from '#crds/run-config/backend';
import type { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import { createCredential, type ExchangeOutcome } from '#runtime/outgoing/create-credential';
import type { ProxySettings } from '#runtime/outgoing/dispatcher';
import type { ExchangedTokens } from '#runtime/outgoing/exchanged-tokens';
import { loadAuthorizer } from '#runtime/policy/load-authorizer';
import type { PolicyMetrics } from '#runtime/policy/policy-metrics';
import type { SecretFiles } from '#runtime/secret-files';
import type { Log } from '#runtime/telemetry/log';
import type { Backend } from './backend.ts';
import { createBreaker } from './breaker.ts';
import type { Deadlines } from './deadlines.ts';
import { unknownHealth } from './health.ts';
import { HttpBackend } from './http-backend.ts';

export interface BackendDeps {
  readonly config: RunConfig;
  readonly files: SecretFiles;
  readonly exchanged: ExchangedTokens;
  readonly deadlines: Deadlines;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly log: Log;
  readonly proxy: ProxySettings | undefined;
  readonly countExchange: (backend: string, outcome: ExchangeOutcome) => void;
  readonly policyMetrics: Partial<PolicyMetrics>;
}

type Makers = {
  [T in BackendConfig['transport']]: (
    settings: Extract<BackendConfig, { transport: T }>,
    deps: BackendDeps,
  ) => Backend | Promise<Backend>;
};

const makers: Makers = {
  'streamable-http': createHttpBackend,
  sse: ({ name }) => {
    throw new ConfigError(`backend ${name}: transport sse is not served; use the server's streamable-http endpoint`);
  },
  stdio: createHttpBackend as never,
};

/** One backend from its configuration. @throws ConfigError */
export function createBackend(settings: BackendConfig, deps: BackendDeps): Backend | Promise<Backend> {
  const make = makers[settings.transport] as (settings: BackendConfig, deps: BackendDeps) => Backend | Promise<Backend>;
  return make(settings, deps);
}

async function createHttpBackend(settings: HttpBackendConfig, deps: BackendDeps): Promise<Backend> {
  const { config, files, log } = deps;
  const { name, header_forward: forward, ca_bundle_file: ca } = settings;
  const { failure_handling: handling, concurrency } = config.operational;
  const breaker = handling.circuit_breaker;
  return new HttpBackend({
    config: settings,
    credential: createCredential(settings.auth, {
      backend: name,
      readSecret: files.read,
      exchanged: deps.exchanged,
      now: deps.wallClock,
      log,
      count: (outcome) => deps.countExchange(name, outcome),
      proxy: deps.proxy,
    }),
    authorizer:
      settings.authz &&
      (await loadAuthorizer(settings.authz, { log, name: `backend/${name}`, metrics: deps.policyMetrics })),
    health: unknownHealth(deps.wallClock),
    breaker: createBreaker(
      { enabled: breaker.enabled, failureThreshold: breaker.failure_threshold, timeout: breaker.timeout },
      deps.now,
    ),
    deadlines: deps.deadlines,
    now: deps.now,
    connectTimeout: config.limits.connect_timeout,
    maxResponseBytes: config.limits.max_response_bytes,
    concurrency: { perBackend: concurrency.per_backend, queue: concurrency.queue },
    ca: ca === undefined ? undefined : files.read(ca),
    fixedHeaders: fixedHeaders(forward, files),
  });
}

const NONE: readonly string[] = [];

/** The headers that every request to the backend carries; values from files follow a change of the file. */
function fixedHeaders(forward: HttpBackendConfig['header_forward'], files: SecretFiles): () => readonly string[] {
  const plain = Object.entries(forward.add_plaintext_headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
  const secret = Object.entries(forward.add_header_files);
  if (secret.length === 0) return plain.length === 0 ? () => NONE : () => plain;
  return () => [...plain, ...secret.flatMap(([name, file]) => [name.toLowerCase(), files.read(file)])];
}
