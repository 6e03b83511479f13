import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { calculateJwkThumbprint, createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { ConfigError } from '#runtime/errors';
import { createSigningKeys } from './create-signing-keys.ts';
import type { KeyFile } from '#runtime/keys/key-file';

const keyFile = (file: string, content: string | Buffer): KeyFile => ({ file, content: Buffer.from(content) });
const pem = (key: KeyObject, type: 'pkcs8' | 'sec1' | 'pkcs1' = 'pkcs8') => key.export({ format: 'pem', type });
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).privateKey;
const [p256, p384, big] = [ec('P-256'), ec('P-384'), rsa(2048)];
const ed = generateKeyPairSync('ed25519').privateKey;
const other = keyFile('other.pem', pem(ec('P-256')));
const former = keyFile('former.pem', pem(p256));
const clock = () => {
  const at = { time: 1_800_000_000_000 };
  return { at, now: () => at.time };
};

describe('createSigningKeys', () => {
  it.each([
    ['P-256 as PKCS#8', pem(p256), 'ES256'],
    ['P-256 as SEC1', pem(p256, 'sec1'), 'ES256'],
    ['P-384 as PKCS#8', pem(p384), 'ES384'],
    ['P-384 as SEC1', pem(p384, 'sec1'), 'ES384'],
    ['RSA as PKCS#8', pem(big), 'RS256'],
    ['RSA as PKCS#1', pem(big, 'pkcs1'), 'RS256'],
    ['Ed25519 as PKCS#8', pem(ed), 'EdDSA'],
  ])('signs with %s so that the published key verifies it', async (_name, text, alg) => {
    const keys = await createSigningKeys([keyFile('key.pem', text)], clock());
    const token = await keys.sign({ sub: 'alice', exp: 4_000_000_000 }, 'at+jwt');
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keys.jwks));
    expect(payload.sub).toBe('alice');
    expect(protectedHeader).toEqual({ alg, typ: 'at+jwt', kid: keys.status.signing });
    expect(keys.status).toEqual({ kids: [keys.status.signing], signing: keys.status.signing, ephemeral: false });
    expect(keys.warnings).toEqual([]);
  });

  it('names a key by its thumbprint, and publishes no private part', async () => {
    const keys = await createSigningKeys([former, keyFile('rsa.pem', pem(big))], clock());
    const published = keys.jwks.keys;
    expect(published.map(({ kid }) => kid)).toEqual(
      await Promise.all(published.map((key) => calculateJwkThumbprint(key))),
    );
    for (const key of published) {
      expect(Object.keys(key).filter((name) => ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'].includes(name))).toEqual(
        [],
      );
      expect(key).toMatchObject({ use: 'sig' });
    }
  });

  it.each([
    ['RSA of 1024 bits', pem(rsa(1024))],
    ['another curve', pem(ec('P-521'))],
    [
      'a curve that is not for signatures',
      generateKeyPairSync('x25519').privateKey.export({ format: 'pem', type: 'pkcs8' }),
    ],
    [
      'RSA-PSS',
      generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey.export({ format: 'pem', type: 'pkcs8' }),
    ],
    ['a public key', generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' })],
    ['no PEM at all', 'c2VjcmV0LXRleHQ='],
    ['a broken PEM', '-----BEGIN PRIVATE KEY-----\nc2VjcmV0LXRleHQ=\n-----END PRIVATE KEY-----'],
    ['nothing', ''],
    [
      'a key behind a passphrase',
      p256.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'hidden-phrase' }),
    ],
  ])('rejects %s with the name of the file and a remedy', async (_name, text) => {
    const failing = createSigningKeys([former, keyFile('keys/bad.pem', text)], clock());
    const error = await failing.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(/keys\/bad\.pem: .*(openssl|passphrase)/);
    expect(String(error)).not.toContain('c2VjcmV0');
    expect(String(error)).not.toMatch(/asn1|DECODER|unsupported/i);
  });

  it('publishes a new first key at once and signs with it after 120 seconds', async () => {
    const { at, now } = clock();
    const keys = await createSigningKeys([former], { now });
    const before = keys.status.signing;
    const published = keys.jwks;
    at.time += 1000;
    await keys.update([other, former]);
    expect(keys.jwks).not.toBe(published);
    expect(keys.jwks.keys).toHaveLength(2);
    expect(keys.status.signing).toBe(before);
    expect(keys.changedAt).toBe(at.time);
    at.time += 119_999;
    expect(decodeProtectedHeader(await keys.sign({}, 'at+jwt')).kid).toBe(before);
    at.time += 1;
    expect(decodeProtectedHeader(await keys.sign({}, 'at+jwt')).kid).toBe(keys.jwks.keys[0]?.kid);
    expect(keys.status.signing).not.toBe(before);
  });

  it('signs with a new key at once when no former one is left', async () => {
    const keys = await createSigningKeys([former], clock());
    const before = keys.status.signing;
    await keys.update([other]);
    expect(keys.status.signing).not.toBe(before);
    expect(keys.jwks.keys).toHaveLength(1);
  });

  it('signs at once with a key that was already in the list', async () => {
    const keys = await createSigningKeys([former, other], clock());
    await keys.update([other, former]);
    expect(keys.status.signing).toBe(keys.status.kids[0]);
  });

  it('keeps the former keys when the new ones cannot be read', async () => {
    const keys = await createSigningKeys([former], clock());
    const { jwks, changedAt } = keys;
    await expect(keys.update([keyFile('bad.pem', 'x'), former])).rejects.toThrow(ConfigError);
    expect(keys.jwks).toBe(jwks);
    expect(keys.changedAt).toBe(changedAt);
  });

  it('keeps the published set while nothing changes, even with a repeated key', async () => {
    const keys = await createSigningKeys([former, other, former], clock());
    const { jwks } = keys;
    expect(jwks.keys).toHaveLength(2);
    await keys.update([former, other]);
    expect(keys.jwks).toBe(jwks);
  });

  it('makes an ES256 key without configuration, and warns of its loss on restart', async () => {
    const { at, now } = clock();
    const keys = await createSigningKeys([], { now });
    const token = await keys.sign({ exp: 4_000_000_000 }, 'at+jwt');
    expect((await jwtVerify(token, createLocalJWKSet(keys.jwks))).protectedHeader.alg).toBe('ES256');
    expect(keys.status.ephemeral).toBe(true);
    expect(keys.warnings).toEqual([expect.stringContaining('after a restart no access token')]);
    await keys.update([]);
    expect(keys.jwks.keys).toHaveLength(1);
    await keys.update([former]);
    at.time += 120_000;
    expect(keys.status).toMatchObject({ ephemeral: false, signing: keys.status.kids[0] });
    expect(keys.warnings).toEqual([]);
    await expect(jwtVerify(token, createLocalJWKSet(keys.jwks))).resolves.toBeDefined();
  });
});
