import type { RegisteredClient as ClientConfig } from '#crds/run-config/auth-server';
import { parsePublicKeys } from '#crds/parts/registered-client';
import { isBlank } from '#crds/parts/primitives';
import { createProxyDispatcher, isProxied, type ProxySettings } from '#lib/connections/proxy';
import { createJsonClient } from '#runtime/incoming/json-client';
import { readKeySet, type KeySet } from '#runtime/incoming/key-set';
import { createRefreshed, type Refreshed } from '#runtime/incoming/refreshed';
import type { Log } from '#runtime/telemetry/log';
import type { Client } from './client.ts';

export type ClientCredential =
  | { readonly type: 'none' }
  | { readonly type: 'secret'; readonly read: () => string }
  | { readonly type: 'keys'; readonly keys: Refreshed<KeySet> };

/** A client that the administrator registered. */
export interface RegisteredClient extends Client {
  readonly grants: ClientConfig['grants'];
  readonly credential: ClientCredential;
}

export interface RegisteredClients {
  get(clientId: string): RegisteredClient | undefined;
  close(): void;
}

interface RegisteredClientDeps {
  readonly allowHttp: boolean;
  /** Returns the current content of a file that the configuration names. @throws ConfigError */
  readonly readFile: (file: string) => string;
  readonly proxy: ProxySettings | undefined;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Milliseconds. A key that the client removed stays valid for five minutes, and longer only while its server fails. */
const KEYS_MAX_AGE = 300_000;
const KEYS_COOLDOWN = 30_000;
const KEYS_STALE_FOR = 3_600_000;
const KEYS_DEADLINE = 5_000;

/** Reads each secret at the start, so that an unusable file fails the start. An empty secret refuses its client only. @throws ConfigError */
export function openRegisteredClients(configs: readonly ClientConfig[], deps: RegisteredClientDeps): RegisteredClients {
  const closing: (() => void)[] = [];
  const clients = new Map(
    configs.map((config) => [
      config.client_id,
      { ...describeClient(config), grants: config.grants, credential: openCredential(config, deps, closing) },
    ]),
  );
  return {
    get: (clientId) => clients.get(clientId),
    close() {
      for (const close of closing) close();
    },
  };
}

function describeClient(config: ClientConfig): Client {
  return {
    client_id: config.client_id,
    client_name: config.display_name,
    redirect_uris: config.redirect_uris,
    scope: config.scopes?.join(' '),
    isVerified: config.verified,
    consent: config.consent,
  };
}

function openCredential(config: ClientConfig, deps: RegisteredClientDeps, closing: (() => void)[]): ClientCredential {
  const { client_id: client, client_secret_file: file, jwks, jwks_url: url } = config;
  const { readFile, log, now } = deps;
  if (file !== undefined) {
    if (isBlank(readFile(file))) log.warn('a client is refused until its secret is written', { client, file });
    return { type: 'secret', read: () => readFile(file) };
  }
  if (jwks === undefined && url === undefined) return { type: 'none' };
  const read =
    url === undefined ? () => Promise.resolve(parsePublicKeys(jwks ?? '')) : fetchKeys(url, config, deps, closing);
  const keys = createRefreshed<KeySet>({
    load: async (former) => readKeySet(await read(), former),
    maxAge: url === undefined ? Infinity : KEYS_MAX_AGE,
    cooldown: KEYS_COOLDOWN,
    staleFor: KEYS_STALE_FOR,
    now,
    onFailure: (error) =>
      log.warn('the keys of a client cannot be read', { client, reason: error instanceof Error ? error.message : '' }),
  });
  return { type: 'keys', keys };
}

/** The URL is the administrator's, so it may be at a private address. */
function fetchKeys(
  url: string,
  { ca_bundle_file: authorities }: ClientConfig,
  { allowHttp, readFile, proxy }: RegisteredClientDeps,
  closing: (() => void)[],
): () => Promise<unknown> {
  const http = createJsonClient({
    allowPrivateAddress: true,
    allowHttp,
    readCaBundle: authorities === undefined ? undefined : () => Promise.resolve(readFile(authorities)),
    deadline: KEYS_DEADLINE,
    dispatcherFor: isProxied(proxy) ? (connect) => createProxyDispatcher(connect, proxy) : undefined,
  });
  closing.push(() => http.close());
  return () => http.get(url);
}
