import type { ProxySettings } from '#lib/connections/proxy';
import type { AuthServer as AuthServerConfig, Upstream } from '#crds/run-config/auth-server';
import { pathText } from '#crds/parts/explain';
import { findProviderProblems } from '#crds/run-config/find-provider-problems';
import type { AuditEvent } from '#runtime/audit/audit';
import { ConfigError } from '#runtime/errors';
import { findUnreadable } from '#runtime/find-unreadable';
import { BoundedMap } from '#runtime/bounded-map';
import type { ReadSource } from '#runtime/http/read-source';
import { keepLastRead } from '#runtime/secret-files';
import type { PolicyReads } from '#runtime/policy/policy-reads';
import type { SharedLogin } from '#runtime/remote-login/shared-login';
import type { Log } from '#runtime/telemetry/log';
import type { RotatingSecretRing } from '#runtime/keys/create-secret-ring';
import type { RotatingSigningKeys } from './keys/create-signing-keys.ts';
import type { KeyFile } from '#runtime/keys/key-file';
import { chainOf } from './chain.ts';
import { createSessionCheck, type SwitchableSessionCheck } from './session-check.ts';
import type { ServerIdentity } from './keys/aad.ts';
import { authServerUrls } from './urls.ts';
import { openStorage } from './storage/open-storage.ts';
import type { AuthStorage } from './storage/storage.ts';
import type { KnownSessions } from './token/known-session.ts';
import { createProvider } from './upstream/create-provider.ts';
import { createOutOfService } from './upstream/out-of-service.ts';
import type { ProviderDeps } from './upstream/provider-deps.ts';
import type { UpstreamProvider } from './upstream/provider.ts';

export interface AuthServerOptions {
  readonly place: ServerIdentity;
  /** URL of the MCP endpoint: the default audience of tokens. */
  readonly resourceUrl: string;
  /** Returns the current content of a file that the configuration names. @throws ConfigError */
  readonly readFile: (file: string) => string;
  readonly readBytes: (file: string) => Uint8Array;
  readonly readSource: ReadSource;
  readonly record: (event: AuditEvent) => void;
  readonly answered: (endpoint: string, status: number) => void;
  readonly log: Log;
  readonly proxy: ProxySettings | undefined;
  readonly sharedLogins: () => readonly SharedLogin[];
  /** Returns what the active policies read of a caller. */
  readonly policyReads: () => PolicyReads;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: (bytes: number) => Buffer;
}

export interface LastingParts {
  readonly keys: RotatingSigningKeys;
  readonly secrets: RotatingSecretRing;
}

export interface Stored {
  readonly storage: AuthStorage;
  readonly sessions: SwitchableSessionCheck;
  readonly known: KnownSessions;
}

const KNOWN_SESSIONS = 10_000;

/** Opens the storage and its caches. @throws ConfigError */
export async function openStored(
  { storage: config }: AuthServerConfig,
  { now, readFile }: AuthServerOptions,
): Promise<Stored> {
  const storage = await openStorage(config, { now, readSecret: readFile });
  return { storage, sessions: createSessionCheck(storage, now), known: new BoundedMap(KNOWN_SESSIONS) };
}

interface OpenProvider {
  /** Undefined when the settings are unusable. The provider is opened again when a file or the configuration changes. */
  readonly settings: string | undefined;
  /** `settings` without file names and without `out_of_service`. */
  readonly fixed: string;
  readonly provider: UpstreamProvider;
  readonly warning?: string;
}
export type OpenProviders = ReadonlyMap<string, OpenProvider>;

/** A provider with unusable settings is out of service. If only a file is missing and nothing else is new, it keeps its former settings. */
export function openProviders(
  config: AuthServerConfig,
  before: OpenProviders,
  options: AuthServerOptions,
): OpenProviders {
  const urls = authServerUrls(config);
  const { primary } = chainOf(config);
  const open = config.upstreams.map((upstream) => {
    const { name } = upstream;
    const rules = {
      redirectUri: urls.callback(name),
      isPrimary: name === primary.name,
      allowHttp: config.insecure_allow_http,
    };
    return [name, openProvider(upstream, rules, before.get(name), options)] as const;
  });
  return new Map(open);
}

type ProviderRules = Pick<ProviderDeps, 'redirectUri' | 'isPrimary' | 'allowHttp'>;

const MAY_COME_LATER = new Set(['ca_bundle_file', 'client_secret_file', 'out_of_service']);

/** Returns why a provider cannot be opened: the `out_of_service` of the document, or a file that cannot be read. */
function findMissing(upstream: Upstream, readFile: AuthServerOptions['readFile']): ConfigError | undefined {
  const { out_of_service: reason } = upstream;
  return reason === undefined ? findUnreadable(upstream, readFile) : new ConfigError(reason);
}

function openProvider(
  upstream: Upstream,
  rules: ProviderRules,
  former: OpenProvider | undefined,
  { readFile, proxy, now, log }: AuthServerOptions,
): OpenProvider {
  const { name } = upstream;
  const settings = JSON.stringify([upstream, rules]);
  const fixed = JSON.stringify([upstream, rules], (key, value: unknown) =>
    MAY_COME_LATER.has(key) ? undefined : value,
  );
  if (former?.settings === settings) return { settings, fixed, provider: former.provider };
  const missing = findMissing(upstream, readFile);
  if (missing && former?.settings !== undefined && former.fixed === fixed) {
    const warning = `provider ${name} keeps its former settings until this is mended: ${missing.message}`;
    log.warn(warning);
    return { ...former, warning };
  }
  try {
    checkProvider(upstream, rules);
    if (missing) throw missing;
    const readSecret = keepLastRead(readFile);
    return { settings, fixed, provider: createProvider(upstream, { ...rules, readSecret, proxy, now, log }) };
  } catch (error) {
    const message = error instanceof ConfigError ? error.message : 'it cannot be opened';
    const reason = message.replace(`upstream ${name}: `, '');
    const warning = `provider ${name} is out of service until its configuration is mended: ${reason}`;
    log.error(warning, error instanceof ConfigError ? undefined : { error });
    return { settings: undefined, fixed, provider: createOutOfService(name), warning };
  }
}

/** Checks the settings of a provider. @throws ConfigError when they are unusable */
function checkProvider(upstream: Upstream, { allowHttp }: ProviderRules): void {
  const problems = findProviderProblems(upstream, allowHttp);
  if (problems.length === 0) return;
  const texts = problems.map(({ path, message }) => `${pathText(path)}: ${message}`);
  throw new ConfigError(`upstream ${upstream.name}: ${texts.join('; ')}`);
}

export async function closeProviders(providers: OpenProviders, others: OpenProviders): Promise<void> {
  const kept = new Set([...others.values()].map(({ provider }) => provider));
  const gone = [...providers.values()].filter(({ provider }) => !kept.has(provider));
  await Promise.all(gone.map(({ provider }) => provider.close()));
}

/** Reads the key files. @throws ConfigError */
export function readKeyFiles(
  { signing_key_config: signing, hmac_secret_files: secrets }: AuthServerConfig,
  { readBytes }: AuthServerOptions,
): { readonly signing: readonly KeyFile[]; readonly secrets: readonly KeyFile[] } {
  const read = (file: string): KeyFile => ({ file, content: readBytes(file) });
  const named = signing ? [signing.signing_key_file, ...signing.fallback_key_files] : [];
  return { signing: named.map(read), secrets: secrets.map(read) };
}
