import type { Backend as BackendConfig } from '#crds/run-config/backend';
import { pathText } from '#crds/parts/explain';
import { findBackendProblems } from '#crds/run-config/find-backend-problems';
import { namesUsers } from '#crds/run-config/auth-server';
import type { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import { findUnreadable } from '#runtime/find-unreadable';
import { blankFileNames } from '#runtime/list-files';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { keepLastRead } from '#runtime/secret-files';
import { createBackend, type BackendDeps } from './create-backend.ts';
import type { Backend } from './backend.ts';
import type { BackendSet } from './backend-set.ts';
import { createOutOfService, NO_WATCH } from './out-of-service.ts';
import { watchBackend, type BackendWatch } from './watch-backend.ts';

interface ActiveBackend {
  readonly backend: Backend;
  readonly watch: BackendWatch;
  readonly made: string;
  readonly checks: string;
  readonly keepsFormer?: string;
}

export interface ActiveBackends extends BackendSet {
  readonly first: Promise<void>;
  readonly replaced: readonly string[];
  /** Stops watching backends that `next` does not reuse. @returns those backends; the caller closes them */
  leave(next: ActiveBackends): Backend[];
  close(): Promise<void>;
  /** Backends that are out of service or keep former settings must be recreated when files change. */
  readonly isIncomplete: boolean;
  readonly live: ReadonlyMap<string, ActiveBackend>;
}

export interface BuildDeps extends Omit<BackendDeps, 'config'> {
  readonly changed: (backend: Backend) => void;
  readonly credentialChanged: (backend: string) => void;
}

/**
 * Creates the backends of a run configuration. An unchanged backend keeps its connections, its process and its health. A backend with
 * unusable settings is out of service. Configuration and secrets may arrive one after the other: if a new file cannot be read and
 * `checks` is unchanged, the backend keeps its former settings.
 */
export async function buildBackends(
  config: RunConfig,
  before: ActiveBackends,
  deps: BuildDeps,
): Promise<ActiveBackends> {
  const live = new Map<string, ActiveBackend>();
  const fresh: ActiveBackend[] = [];
  try {
    for (const backend of config.backends) {
      const texts = { made: settingsText(backend, config), checks: checksText(backend, config) };
      const known = before.live.get(backend.name);
      const inService = known?.backend.isOutOfService === true ? undefined : known;
      const one =
        inService?.made === texts.made
          ? asWritten(inService)
          : await renewBackend(backend, texts, inService, config, deps);
      if (one.backend !== known?.backend) fresh.push(one);
      live.set(backend.name, one);
    }
  } catch (error) {
    for (const one of fresh) void stop(one);
    throw error;
  }
  const all = [...live.values()].map((one) => one.backend);
  return {
    all,
    live,
    get: (name) => live.get(name)?.backend,
    watch: (name) => live.get(name)?.watch,
    first: Promise.all([...live.values()].map((one) => one.watch.first)).then(() => undefined),
    replaced: [...before.live].filter(([name, one]) => live.get(name)?.backend !== one.backend).map(([name]) => name),
    leave(next) {
      const left = [...live]
        .filter(([name, one]) => next.live.get(name)?.backend !== one.backend)
        .map(([, one]) => one);
      for (const { watch } of left) watch.close();
      return left.map(({ backend }) => backend);
    },
    isIncomplete: [...live.values()].some(({ backend, keepsFormer }) => backend.isOutOfService ?? keepsFormer),
    warnings: [...live.values()].flatMap(({ keepsFormer }) => keepsFormer ?? []),
    async close() {
      await Promise.all([...live.values()].map(stop));
    },
  };
}

export const NO_BACKENDS: ActiveBackends = {
  all: [],
  live: new Map(),
  get: () => undefined,
  watch: () => undefined,
  first: Promise.resolve(),
  replaced: [],
  leave: () => [],
  isIncomplete: false,
  warnings: [],
  close: () => Promise.resolve(),
};

/** Omits file contents, which are read again after each change. */
function settingsText(backend: BackendConfig, config: RunConfig): string {
  const { operational, limits, embedded_auth_server_config: authServer } = config;
  return JSON.stringify([
    // Rate limits are applied before a call reaches the backend.
    { ...backend, rate_limiting: undefined },
    // Stored tokens of users come from that server. Other backends do not depend on it.
    takesStoredTokens(backend) ? authServer?.issuer : undefined,
    backend.authz && namesUsers(authServer),
    operational.failure_handling,
    operational.concurrency,
    limits.connect_timeout,
    limits.max_response_bytes,
  ]);
}

function asWritten({ backend, watch, made, checks }: ActiveBackend): ActiveBackend {
  return { backend, watch, made, checks };
}

type SettingsTexts = Pick<ActiveBackend, 'made' | 'checks'>;

/** Names of files do not count: they decide neither which calls are allowed, nor the credential. */
function checksText(backend: BackendConfig, { embedded_auth_server_config: authServer }: RunConfig): string {
  const { auth, authz, webhooks, tools_filter: filter, tools_override: overrides } = backend;
  return JSON.stringify([
    blankFileNames({ auth, authz, webhooks, filter, overrides }),
    takesStoredTokens(backend) ? authServer?.issuer : undefined,
    authz && namesUsers(authServer),
  ]);
}

function takesStoredTokens({ auth }: BackendConfig): boolean {
  return (
    auth.type === 'upstream_inject' ||
    auth.type === 'xaa' ||
    (auth.type === 'token_exchange' && auth.subject_provider_name !== undefined)
  );
}

/** Messages of other errors may contain secrets from files. */
const UNKNOWN = 'it cannot be opened; the log has the reason';

/** `former`: the backend still serves with other settings. */
async function renewBackend(
  settings: BackendConfig,
  texts: SettingsTexts,
  former: ActiveBackend | undefined,
  config: RunConfig,
  deps: BuildDeps,
): Promise<ActiveBackend> {
  const { name } = settings;
  const unreadable = findUnreadable(settings, deps.files.read);
  if (unreadable && former?.checks === texts.checks) {
    const keepsFormer = `backend ${name} keeps its former settings until this is mended: ${unreadable.message}`;
    deps.log.warn(keepsFormer);
    return { ...former, keepsFormer };
  }
  try {
    if (unreadable) throw unreadable;
    return await startBackend(settings, texts, config, deps);
  } catch (error) {
    deps.log.error('backend is out of service: its configuration cannot be used', { backend: name, error });
    const reason = error instanceof ConfigError ? error : new ConfigError(UNKNOWN, { cause: error });
    return { backend: createOutOfService(settings, reason, deps.wallClock), watch: NO_WATCH, ...texts };
  }
}

/** An error takes the backend out of service. @throws ConfigError */
function checkBackend(settings: BackendConfig, { embedded_auth_server_config: authServer }: RunConfig): void {
  const problems = findBackendProblems(
    settings,
    authServer?.upstreams.map(({ name }) => name),
  );
  if (problems.length === 0) return;
  const texts = problems.map(({ path, message }) => `${pathText(path)}: ${message}`);
  throw new ConfigError(`backend ${settings.name}: ${texts.join('; ')}`);
}

async function startBackend(
  settings: BackendConfig,
  texts: SettingsTexts,
  config: RunConfig,
  deps: BuildDeps,
): Promise<ActiveBackend> {
  checkBackend(settings, config);
  const files = { ...deps.files, read: keepLastRead(deps.files.read) };
  const backend = await createBackend(settings, { ...deps, files, config });
  const { failure_handling: handling } = config.operational;
  const watch = watchBackend(
    backend,
    {
      identity: ANONYMOUS,
      deadline: handling.health_check_timeout,
      version: deps.version,
      interval: handling.health_check_interval,
      unhealthyThreshold: handling.unhealthy_threshold,
    },
    deps,
  );
  backend.credential.onChange?.(() => {
    deps.credentialChanged(backend.name);
    watch.nudge();
  });
  backend.onProcess?.((end) => watch.noteProcess(end));
  return { backend, watch, ...texts };
}

async function stop({ backend, watch }: ActiveBackend): Promise<void> {
  watch.close();
  await backend.close();
}
