import type { ProxySettings } from '#crds/connections/proxy';
import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import type { AuditEvent } from '#runtime/audit/audit';
import { BoundedMap } from '#runtime/bounded-map';
import type { ReadSource } from '#runtime/http/read-source';
import type { SharedLogin } from '#runtime/remote-login/shared-login';
import type { Log } from '#runtime/telemetry/log';
import type { LiveSecretRing } from '#runtime/keys/create-secret-ring';
import type { LiveSigningKeys } from './keys/create-signing-keys.ts';
import type { KeyFile } from '#runtime/keys/key-file';
import { chainOf } from './chain.ts';
import { createSessionCheck, type LiveSessionCheck } from './session-check.ts';
import type { Place } from './keys/aad.ts';
import { authServerUrls } from './urls.ts';
import { openStorage } from './storage/open-storage.ts';
import type { AuthStorage } from './storage/storage.ts';
import type { KnownSessions } from './token/known-session.ts';
import { createProvider } from './upstream/create-provider.ts';
import type { UpstreamProvider } from './upstream/provider.ts';

/** What the authorization server gets from the process around it. */
export interface AuthServerOptions {
  /** Which server this is: stored rows are bound to it. */
  readonly place: Place;
  /** URL of the MCP endpoint: the audience of tokens where the configuration names none. */
  readonly resourceUrl: string;
  /** Content of a file that the configuration names, as it is now. @throws ConfigError */
  readonly readFile: (file: string) => string;
  readonly readBytes: (file: string) => Uint8Array;
  readonly readSource: ReadSource;
  readonly record: (event: AuditEvent) => void;
  /** Told of each answer of an endpoint. */
  readonly answered: (endpoint: string, status: number) => void;
  readonly log: Log;
  readonly proxy: ProxySettings | undefined;
  /** Logins at remote servers that serve all callers, as they are now. */
  readonly sharedLogins: () => readonly SharedLogin[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: (bytes: number) => Buffer;
}

/** What outlives a change of the configuration. */
export interface LastingParts {
  readonly keys: LiveSigningKeys;
  readonly secrets: LiveSecretRing;
}

/** The storage, with what is remembered of it. */
export interface Stored {
  readonly storage: AuthStorage;
  readonly sessions: LiveSessionCheck;
  readonly known: KnownSessions;
}

const KNOWN_SESSIONS = 10_000;

/** @throws ConfigError */
export async function openStored(
  { storage: config }: AuthServerConfig,
  { now, readFile }: AuthServerOptions,
): Promise<Stored> {
  const storage = await openStorage(config, { now, readSecret: readFile });
  return { storage, sessions: createSessionCheck(storage, now), known: new BoundedMap(KNOWN_SESSIONS) };
}

/** A provider with what it was made from. */
interface OpenProvider {
  readonly settings: string;
  readonly provider: UpstreamProvider;
}
export type OpenProviders = ReadonlyMap<string, OpenProvider>;

/**
 * The upstream providers of a configuration; those of the former one that are the same go on.
 * @throws ConfigError, and then those that were made for it are closed again
 */
export async function openProviders(
  config: AuthServerConfig,
  before: OpenProviders,
  { readFile, proxy, now }: AuthServerOptions,
): Promise<OpenProviders> {
  const urls = authServerUrls(config);
  const { primary } = chainOf(config);
  const next = new Map<string, OpenProvider>();
  try {
    for (const upstream of config.upstreams) {
      const rules = {
        redirectUri: urls.callback(upstream.name),
        isPrimary: upstream.name === primary.name,
        allowHttp: config.insecure_allow_http,
      };
      const settings = JSON.stringify([upstream, rules]);
      const former = before.get(upstream.name);
      const provider =
        former?.settings === settings
          ? former.provider
          : createProvider(upstream, { ...rules, readSecret: readFile, proxy, now });
      next.set(upstream.name, { settings, provider });
    }
    return next;
  } catch (error) {
    await closeProviders(next, before);
    throw error;
  }
}

/** Closes those that are not among the `others`. */
export async function closeProviders(providers: OpenProviders, others: OpenProviders): Promise<void> {
  const kept = new Set([...others.values()].map(({ provider }) => provider));
  const gone = [...providers.values()].filter(({ provider }) => !kept.has(provider));
  await Promise.all(gone.map(({ provider }) => provider.close()));
}

/** @throws ConfigError */
export function readKeyFiles(
  { signing_key_config: signing, hmac_secret_files: secrets }: AuthServerConfig,
  { readBytes }: AuthServerOptions,
): { readonly signing: readonly KeyFile[]; readonly secrets: readonly KeyFile[] } {
  const read = (file: string): KeyFile => ({ file, content: readBytes(file) });
  const named = signing ? [signing.signing_key_file, ...signing.fallback_key_files] : [];
  return { signing: named.map(read), secrets: secrets.map(read) };
}
