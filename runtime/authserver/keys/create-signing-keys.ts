import { sign as signWith, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { derToJose } from 'ecdsa-sig-formatter';
import type { JSONWebKeySet, JWTPayload } from 'jose';
import type { SigningAlgorithm } from '#lib/keys/signing-algorithm';
import { loadSigningKey, makeSigningKey, type SigningKey } from './load-signing-key.ts';
import type { SigningKeys } from './signing-keys.ts';
import type { KeyFile } from '#runtime/keys/key-file';
import { createKeyRotation } from '#runtime/keys/key-rotation';

export interface RotatingSigningKeys extends SigningKeys {
  /** Time of the start or of the last change, in milliseconds since the epoch. */
  readonly changedAt: number;
  readonly warnings: readonly string[];
  /** Replaces the list of keys. @throws ConfigError; the former list stays active */
  update(files: readonly KeyFile[]): Promise<void>;
}

interface KeyDeps {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const LOST =
  'The key that signs access tokens exists in this process only: after a restart no access token that was issued before is accepted. ' +
  'Set signingKeySecretRefs.';

/** Loads the signing keys. Without files, it makes one key that is lost with the process. @throws ConfigError */
export async function createSigningKeys(files: readonly KeyFile[], { now }: KeyDeps): Promise<RotatingSigningKeys> {
  // Made on first need and kept. Its signatures stay valid after a configured key replaces it.
  let own = files.length === 0 ? await makeSigningKey() : undefined;
  const keys = createKeyRotation(own ? [own] : await loadAll(files), now);
  let jwks = publish(keys.all);
  const sign = createSigner();
  const isEphemeral = () => keys.making() === own;
  return {
    sign: (claims, typ) => sign(claims, typ, keys.making()),
    get jwks() {
      return jwks;
    },
    get status() {
      return { kids: keys.all.map(({ kid }) => kid), signing: keys.making().kid, ephemeral: isEphemeral() };
    },
    get changedAt() {
      return keys.changedAt;
    },
    get warnings() {
      return isEphemeral() ? [LOST] : [];
    },
    async update(next) {
      const loaded = await loadAll(next);
      if (loaded.length === 0) own ??= await makeSigningKey();
      if (keys.update(own ? [...loaded, own] : loaded)) jwks = publish(keys.all);
    },
  };
}

function loadAll(files: readonly KeyFile[]): Promise<SigningKey[]> {
  return Promise.all(files.map(loadSigningKey));
}

function publish(keys: readonly SigningKey[]): JSONWebKeySet {
  return { keys: keys.map(({ jwk }) => jwk) };
}

const signElsewhere = promisify(
  (
    hash: string | null,
    data: Buffer,
    key: Parameters<typeof signWith>[2],
    done: (error: Error | null, signature: Buffer) => void,
  ) => signWith(hash, data, key, done),
);
type Sign = (data: Buffer, key: KeyObject) => string | Promise<string>;

/** RFC 7518 §3.1, RFC 8037. Cheap algorithms sign at once; expensive ones sign outside the event loop. */
const SIGN: Readonly<Record<SigningAlgorithm, Sign>> = {
  // Converting OpenSSL's DER form costs half as much as requesting the JOSE form.
  ES256: (data, key) => derToJose(signWith('sha256', data, key), 'ES256'),
  EdDSA: (data, key) => signWith(null, data, key).toString('base64url'),
  ES384: async (data, key) => derToJose(await signElsewhere('sha384', data, key), 'ES384'),
  RS256: async (data, key) => (await signElsewhere('sha256', data, key)).toString('base64url'),
};

/** Creates a signer that does the same as jose's SignJWT at two fifths of its cost, which limits the rate of refreshes. */
function createSigner(): (claims: JWTPayload, typ: string, key: SigningKey) => Promise<string> {
  let header = { kid: '', typ: '', text: '' };
  return async (claims, typ, { kid, alg, privateKey }) => {
    if (header.kid !== kid || header.typ !== typ) header = { kid, typ, text: encode({ alg, typ, kid }) };
    const input = `${header.text}.${encode(claims)}`;
    return `${input}.${await SIGN[alg](Buffer.from(input), privateKey)}`;
  };
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
