import type { JSONWebKeySet } from 'jose';
import type { OidcIncoming } from '#crds/run-config/incoming';
import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import type { IssuerMetadata } from './discover-issuer.ts';
import { IdpUnavailable, type JsonClient } from './json-client.ts';
import { readKeySet, type KeySet } from './key-set.ts';
import { createRefreshed, type Refreshed } from './refreshed.ts';

interface KeySourceSettings {
  readonly incoming: OidcIncoming;
  readonly client: JsonClient;
  readonly metadata: Refreshed<IssuerMetadata>;
  readonly readFile: (path: string) => Promise<string>;
  readonly embeddedKeys: (() => JSONWebKeySet | Promise<JSONWebKeySet>) | undefined;
  /** Milliseconds. */
  readonly jwksMaxAge: number;
  readonly jwksCooldown: number;
  readonly now: () => number;
  readonly log: Log;
}

/** Milliseconds beyond their age in which keys of a failing source remain valid. This bridges an outage, but delays a revocation. */
const STALE_FOR = 3_600_000;
/** Files and the embedded server are cheap to read, so changes are detected soon. */
const NEAR_MAX_AGE = 5_000;
const NEAR_COOLDOWN = 1_000;

interface Origin {
  readonly read: () => Promise<unknown>;
  readonly maxAge: number;
  readonly cooldown: number;
}

/** The first configured source wins: embedded server, document, file, URL, discovery. @throws ConfigError without the embedded server */
export function createKeySource(settings: KeySourceSettings): Refreshed<KeySet> {
  const { log } = settings;
  const origin = chooseOrigin(settings);
  return createRefreshed<KeySet>({
    load: async (former) => {
      const keys = await readKeySet(await origin.read(), former);
      if (keys !== former) log.info('keys for access tokens read', { unusable: keys.unusable });
      return keys;
    },
    maxAge: origin.maxAge,
    cooldown: origin.cooldown,
    staleFor: STALE_FOR,
    now: settings.now,
    onFailure: (error) => log.warn('keys for access tokens cannot be read', { reason: reasonOf(error) }),
  });
}

function chooseOrigin(settings: KeySourceSettings): Origin {
  const { incoming, embeddedKeys, readFile } = settings;
  const near = { maxAge: NEAR_MAX_AGE, cooldown: NEAR_COOLDOWN };
  if (incoming.embedded) {
    if (!embeddedKeys) throw new ConfigError('incoming.embedded needs an authorization server in this process');
    return { read: async () => embeddedKeys(), ...near };
  }
  const { jwks, jwks_file } = incoming;
  if (jwks) return { read: () => Promise.resolve(jwks), maxAge: Infinity, cooldown: Infinity };
  if (jwks_file !== undefined) return { read: async () => parseFile(await readFile(jwks_file), jwks_file), ...near };
  return { read: () => fetchKeys(settings), maxAge: settings.jwksMaxAge, cooldown: settings.jwksCooldown };
}

async function fetchKeys({ incoming, client, metadata, readFile }: KeySourceSettings): Promise<unknown> {
  const url = incoming.jwks_url ?? (await metadata.get()).jwks_uri;
  if (url === undefined) throw new IdpUnavailable('the metadata of the issuer names no jwks_uri; set jwksUrl');
  const file = incoming.jwks_auth_token_file;
  // The token is for the configured URL or the issuer, not for a host that a fetched document names.
  const trusted = incoming.jwks_url !== undefined || new URL(url).origin === new URL(incoming.issuer).origin;
  if (file === undefined || !trusted) return client.get(url);
  return client.get(url, { authorization: `Bearer ${(await readFile(file)).trim()}` });
}

function parseFile(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new IdpUnavailable(`${path} is not JSON`);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}
