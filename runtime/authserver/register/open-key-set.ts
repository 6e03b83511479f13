import { parsePublicKeys } from '#crds/parts/registered-client';
import { createProxyDispatcher, isProxied, type ProxySettings } from '#lib/connections/proxy';
import { createJsonClient } from '#runtime/incoming/json-client';
import { readKeySet, type KeySet } from '#runtime/incoming/key-set';
import { createRefreshed, type Refreshed } from '#runtime/incoming/refreshed';
import type { Log } from '#runtime/telemetry/log';

export interface KeySetDeps {
  readonly allowHttp: boolean;
  /** Returns the current content of a file that the configuration names. @throws ConfigError */
  readonly readFile: (file: string) => string;
  readonly proxy: ProxySettings | undefined;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface KeySource {
  /** Names the owner of the keys in the log. */
  readonly owner: string;
  readonly jwks?: string | undefined;
  readonly url: string | undefined;
  readonly authorities: string | undefined;
}

/** Milliseconds. A key that its owner removed stays valid for five minutes, and longer only while its server fails. */
const MAX_AGE = 300_000;
const COOLDOWN = 30_000;
const STALE_FOR = 3_600_000;
const DEADLINE = 5_000;

/** Opens the public keys of a client or an issuer: written ones, or those of a URL. `closing` collects what ends them. */
export function openKeySet(source: KeySource, deps: KeySetDeps, closing: (() => void)[]): Refreshed<KeySet> {
  const { url, jwks = '', owner } = source;
  const { log, now } = deps;
  const read = url === undefined ? () => Promise.resolve(parsePublicKeys(jwks)) : fetchKeys(url, source, deps, closing);
  return createRefreshed<KeySet>({
    load: async (former) => readKeySet(await read(), former),
    maxAge: url === undefined ? Infinity : MAX_AGE,
    cooldown: COOLDOWN,
    staleFor: STALE_FOR,
    now,
    onFailure: (error) =>
      log.warn(`the keys of ${owner} cannot be read`, { reason: error instanceof Error ? error.message : '' }),
  });
}

/** The URL is the administrator's, so it may be at a private address. */
function fetchKeys(
  url: string,
  { authorities }: KeySource,
  { allowHttp, readFile, proxy }: KeySetDeps,
  closing: (() => void)[],
): () => Promise<unknown> {
  const http = createJsonClient({
    allowPrivateAddress: true,
    allowHttp,
    readCaBundle: authorities === undefined ? undefined : () => Promise.resolve(readFile(authorities)),
    deadline: DEADLINE,
    dispatcherFor: isProxied(proxy) ? (connect) => createProxyDispatcher(connect, proxy) : undefined,
  });
  closing.push(() => http.close());
  return () => http.get(url);
}
