import type { Dispatcher, Pool } from 'undici';
import { createProxyDispatcher, isProxied, type ProxySettings } from '#lib/connections/proxy';
import { DEFAULTS } from '#crds/parts/defaults';
import { inheritedVariables } from '#crds/parts/inherited-variables';
import type {
  Backend as BackendConfig,
  HttpBackend as HttpBackendConfig,
  SseBackend as SseConfig,
  StdioBackend as StdioConfig,
} from '#crds/run-config/backend';
import { namesUsers } from '#crds/run-config/auth-server';
import type { RunConfig } from '#crds/run-config/run-config';
import type { AuditEvent } from '#runtime/audit/audit';
import type { UserTokens } from '#runtime/authserver/user-tokens';
import { ConfigError } from '#runtime/errors';
import { createCredential } from '#runtime/outgoing/create-credential';
import type { Credential } from '#runtime/outgoing/credential';
import { checkAuthorities } from '#runtime/http/check-authorities';
import { addedHeaders } from '#runtime/outgoing/added-headers';
import type { ExchangeOutcome } from '#runtime/outgoing/credential-deps';
import type { ExchangedTokens } from '#runtime/outgoing/exchanged-tokens';
import { loadAuthorizer } from '#runtime/policy/load-authorizer';
import type { PolicyMetrics } from '#runtime/policy/policy-metrics';
import type { SecretFiles } from '#runtime/secret-files';
import type { Log } from '#runtime/telemetry/log';
import type { WebhookOutcome } from '#runtime/webhooks/create-webhook-gate';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { AppUris } from '#runtime/mcp/aggregate/app-uris';
import type { Backend } from './backend.ts';
import type { BackendParts } from './backend-parts.ts';
import type { LookUp } from './backend-pods.ts';
import { BridgedBackend } from '../bridge/bridged-backend.ts';
import type { BridgeDeps } from '../bridge/to-legacy/bridge-deps.ts';
import { TaskTools } from '../bridge/to-legacy/task-tools.ts';
import { CheckedHeaders } from '../bridge/to-legacy/checked-headers.ts';
import { LegacyBridge } from '../bridge/to-legacy/legacy-bridge.ts';
import type { ListenStreams } from '../bridge/to-modern/listen-streams.ts';
import { ModernBridge } from '../bridge/to-modern/modern-bridge.ts';
import type { ParkedCalls } from '../bridge/to-legacy/parked-calls.ts';
import { createBreaker } from './breaker.ts';
import type { Deadlines } from './deadlines.ts';
import type { BufferedBytes } from './buffered-bytes.ts';
import { unknownHealth } from './health.ts';
import { HttpBackend, type HttpBackendOptions } from './http-backend.ts';
import { ownInitialize } from './probe.ts';

const START_DEADLINE = 30_000;

export interface BackendDeps {
  readonly config: RunConfig;
  readonly files: SecretFiles;
  readonly exchanged: ExchangedTokens;
  readonly deadlines: Deadlines;
  readonly bufferedBytes: BufferedBytes;
  readonly parkedCalls: ParkedCalls;
  readonly listenStreams: ListenStreams;
  readonly apps: AppUris;
  /** Monotonic clock. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly log: Log;
  readonly proxy: ProxySettings | undefined;
  /** Absent: the resolver of this machine. */
  readonly lookUp?: LookUp | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly listChanged: (backend: string, method: string) => void;
  readonly record: (event: AuditEvent) => void;
  readonly countExchange: (backend: string, outcome: ExchangeOutcome) => void;
  readonly countWebhook: (webhook: string, outcome: WebhookOutcome) => void;
  readonly policyMetrics: Partial<PolicyMetrics>;
  /** Undefined: there is no embedded authorization server. */
  readonly userTokens?: UserTokens | undefined;
}

type Makers = {
  [T in BackendConfig['transport']]: (
    settings: Extract<BackendConfig, { transport: T }>,
    deps: BackendDeps,
  ) => Backend | Promise<Backend>;
};

const makers: Makers = {
  'streamable-http': createHttpBackend,
  sse: createSse,
  stdio: createStdio,
};

/** @throws ConfigError */
export async function createBackend(settings: BackendConfig, deps: BackendDeps): Promise<Backend> {
  const make = makers[settings.transport] as (settings: BackendConfig, deps: BackendDeps) => Backend | Promise<Backend>;
  const { version } = deps;
  const deadline = deps.config.limits.list_deadline;
  const bridges = {
    legacy: (backend: Backend) => new ModernBridge(backend, deps.listenStreams),
    modern: (backend: Backend) => new LegacyBridge({ backend, ...bridgeDeps(settings, deps) }),
  };
  return new BridgedBackend(await make(settings, deps), bridges, { deadline, version });
}

function bridgeDeps(
  { name }: BackendConfig,
  { config, listChanged, ...deps }: BackendDeps,
): Omit<BridgeDeps, 'backend'> {
  const { version, now, wallClock, parkedCalls } = deps;
  const { list_deadline: deadline, sessions_per_replica: maxSessions, session_idle: sessionIdle } = config.limits;
  return {
    ...{ deadline, maxSessions, sessionIdle, version, now, wallClock, parkedCalls },
    checkedHeaders: new CheckedHeaders(),
    taskTools: new TaskTools(),
    listChanged: (method) => listChanged(name, method),
  };
}

async function createHttpBackend(settings: HttpBackendConfig, deps: BackendDeps): Promise<Backend> {
  return new HttpBackend({ ...(await httpOptions(settings, deps)), config: settings });
}

async function createSse(settings: SseConfig, deps: BackendDeps): Promise<Backend> {
  const { limits } = deps.config;
  // Loaded on first use, because most configurations have no such server.
  const { createSseBackend } = await import('#runtime/mcp/transports/sse-backend');
  return createSseBackend({
    ...(await httpOptions(settings, deps)),
    config: settings,
    sessions: { max: limits.sessions_per_replica, idle: limits.session_idle },
    log: deps.log,
    onListChanged: (method) => deps.listChanged(settings.name, method),
  });
}

async function httpOptions(
  settings: HttpBackendConfig,
  deps: BackendDeps,
): Promise<Omit<HttpBackendOptions, 'config'>> {
  const { config, files, proxy } = deps;
  const { header_forward: forward, ca_bundle_file: ca } = settings;
  return {
    ...(await makeParts(settings, deps)),
    connectTimeout: config.limits.connect_timeout,
    maxStreams: config.limits.sessions_per_replica,
    ca: readAuthorities(ca, files),
    ...(isProxied(proxy) ? { createPool: (_origin, options) => throughProxy(options, proxy) } : {}),
    fixedHeaders: addedHeaders(forward, { backend: settings.name, files, log: deps.log }),
    lookUp: deps.lookUp,
  };
}

/** @throws ConfigError */
function readAuthorities(file: string | undefined, files: SecretFiles): string | undefined {
  return file === undefined ? undefined : checkAuthorities(files.read(file), file);
}

async function createStdio(settings: StdioConfig, deps: BackendDeps): Promise<Backend> {
  const { config, files, log, environment, version, listChanged } = deps;
  // Loaded on first use, because most servers need no process.
  const { createStdioBackend, defaultBackoff } = await import('#runtime/mcp/transports/stdio-backend');
  const secrets = Object.entries(settings.env_files).map(([name, file]) => [name, readVariable(file, files)] as const);
  return createStdioBackend({
    ...(await makeParts(settings, deps)),
    config: settings,
    env: { ...inheritedVariables(environment), ...settings.env, ...Object.fromEntries(secrets) },
    secrets: secrets.map(([, value]) => value),
    sessions: {
      max: config.limits.sessions_per_replica,
      maxProcesses: config.limits.sessions_per_principal ?? DEFAULTS.sessionsPerPrincipal,
      idle: config.limits.session_idle,
    },
    initializeParams: ownInitialize(version),
    startDeadline: START_DEADLINE,
    backoff: defaultBackoff,
    log,
    onListChanged: (method) => listChanged(settings.name, method),
  });
}

/** @throws ConfigError if the value cannot be in an environment */
function readVariable(file: string, files: SecretFiles): string {
  const value = files.read(file);
  if (value.includes('\0')) throw new ConfigError(`${file} has a NUL character, which no process gets; remove it`);
  return value;
}

async function makeParts(settings: BackendConfig, deps: BackendDeps): Promise<BackendParts> {
  const credential = await makeCredential(settings, deps);
  try {
    return await makeOtherParts(credential, settings, deps);
  } catch (error) {
    credential.close();
    throw error;
  }
}

/** @throws ConfigError */
async function makeCredential(settings: BackendConfig, deps: BackendDeps): Promise<Credential> {
  const { name: backend, auth } = settings;
  const { files, log, proxy, wallClock: now } = deps;
  if (auth.type === 'remote_auth' && settings.transport !== 'stdio') {
    const { url, ca_bundle_file: file } = settings;
    // Loaded on first use, because most servers have no such login.
    const { openRemoteCredential } = await import('#runtime/remote-login/open-remote-credential');
    const place = { backend, url, ca: readAuthorities(file, files) };
    return openRemoteCredential(auth, { ...place, files, proxy, record: deps.record, log, now });
  }
  return createCredential(auth, {
    backend,
    readSecret: files.read,
    exchanged: deps.exchanged,
    now,
    log,
    count: (outcome) => deps.countExchange(backend, outcome),
    proxy,
    userTokens: deps.userTokens,
    url: settings.transport === 'stdio' ? undefined : settings.url,
    // AWS programs read the endpoint from this variable.
    stsEndpoint: deps.environment.AWS_ENDPOINT_URL_STS,
  });
}

async function makeOtherParts(
  credential: Credential,
  settings: BackendConfig,
  deps: BackendDeps,
): Promise<BackendParts> {
  const { config, log } = deps;
  const { failure_handling: handling, concurrency } = config.operational;
  const { enabled, failure_threshold: failureThreshold, timeout } = handling.circuit_breaker;
  const { name, authz } = settings;
  const { policyMetrics: metrics } = deps;
  const usersAreNamed = namesUsers(config.embedded_auth_server_config);
  return {
    credential,
    authorizer: authz && (await loadAuthorizer(authz, { log, name: `backend/${name}`, metrics, usersAreNamed })),
    webhooks: await makeWebhooks(settings, deps),
    health: unknownHealth(deps.wallClock),
    breaker: createBreaker({ enabled, failureThreshold, timeout }, deps.now),
    deadlines: deps.deadlines,
    bufferedBytes: deps.bufferedBytes,
    apps: deps.apps,
    now: deps.now,
    maxResponseBytes: config.limits.max_response_bytes,
    concurrency: { perBackend: concurrency.per_backend, queue: concurrency.queue },
  };
}

async function makeWebhooks({ webhooks }: BackendConfig, deps: BackendDeps): Promise<WebhookGate | undefined> {
  if (webhooks.length === 0) return undefined;
  // Loaded on first use, because most backends have none.
  const { createWebhookGate } = await import('#runtime/webhooks/create-webhook-gate');
  return createWebhookGate(webhooks, {
    server: deps.config.server,
    readSecret: deps.files.read,
    proxy: deps.proxy,
    now: deps.wallClock,
    log: deps.log,
    count: deps.countWebhook,
  });
}

function throughProxy({ connect, ...options }: Pool.Options, proxy: ProxySettings): Dispatcher {
  return createProxyDispatcher(typeof connect === 'object' ? connect : {}, proxy, options);
}
