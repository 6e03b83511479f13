import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { type SigningAlgorithm, signingAlgorithmOf } from '#lib/keys/signing-algorithm';
import { ConfigError } from '#runtime/errors';
import type { KeyFile } from '#runtime/keys/key-file';

export interface SigningKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly privateKey: KeyObject;
  readonly jwk: JWK;
}

const REMEDY =
  'write a private key in PEM form (PKCS#8, SEC1 or PKCS#1): EC P-256 or P-384, Ed25519, or RSA of at least 2048 bits; ' +
  'for example: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256';

/** Loads a private key. @throws ConfigError that names the file and the remedy, never the content */
export function loadSigningKey({ file, content }: KeyFile): Promise<SigningKey> {
  const { privateKey, alg } = readSigningKey(file, Buffer.from(content).toString('utf8'));
  return describeKey(privateKey, alg);
}

/** Reads a private key from a file's content. @throws ConfigError that names the file and the remedy, never the content */
export function readSigningKey(file: string, pem: string): Pick<SigningKey, 'privateKey' | 'alg'> {
  const privateKey = parse(file, pem);
  const alg = signingAlgorithmOf(privateKey);
  if (alg === undefined) throw new ConfigError(`${file}: this kind of key cannot sign tokens; ${REMEDY}`);
  return { privateKey, alg };
}

export function makeSigningKey(): Promise<SigningKey> {
  return describeKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, 'ES256');
}

function parse(file: string, pem: string): KeyObject {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(pem))
    throw new ConfigError(`${file}: the key is protected by a passphrase; store it without one`);
  if (!pem.includes('PRIVATE KEY-----')) throw new ConfigError(`${file}: there is no private key in it; ${REMEDY}`);
  try {
    return createPrivateKey(pem);
  } catch {
    // The parser's message may contain parts of the file.
    throw new ConfigError(`${file}: the private key in it cannot be read; ${REMEDY}`);
  }
}

async function describeKey(privateKey: KeyObject, alg: SigningAlgorithm): Promise<SigningKey> {
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(jwk);
  return { kid, alg, privateKey, jwk: { ...jwk, kid, alg, use: 'sig' } };
}
