import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, exportSPKI, importJWK, type CryptoKey, type JWK, type JWTPayload } from 'jose';
import { RESOURCE, START, startEndpoint, type Endpoint } from './testdata/endpoint.ts';
import { makeKey, sign, startIssuer, type FakeIssuer, type SigningKey } from './testdata/fake-issuer.ts';

const seconds = START / 1000;
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('JWT access tokens', () => {
  let issuer: FakeIssuer;
  let endpoint: Endpoint;
  let key: SigningKey;
  let rsa: SigningKey;
  let stranger: SigningKey;

  beforeAll(async () => {
    [key, rsa, stranger] = await Promise.all([makeKey('k1'), makeKey('rsa', 'RS256'), makeKey('k1')]);
    issuer = await startIssuer([key.jwk, forAnyAlgorithm(rsa.jwk)]);
    endpoint = await startEndpoint({ issuer: issuer.issuer });
  });
  afterAll(async () => {
    await endpoint.close();
    await issuer.close();
  });

  const claims = (more: JWTPayload = {}): JWTPayload => ({
    iss: issuer.issuer,
    aud: RESOURCE,
    sub: 'alice',
    iat: seconds - 10,
    exp: seconds + 3600,
    ...more,
  });
  const without = (name: string) => Object.fromEntries(Object.entries(claims()).filter(([key]) => key !== name));
  const refusal = async (token: string, at = endpoint) => {
    const { status, headers, text } = await at.call(token);
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toContain('error="invalid_token"');
    return (JSON.parse(text) as { error_description: string }).error_description;
  };

  it('accepts a valid token and returns its caller', async () => {
    const token = await sign(claims({ scope: 'mcp read', client_id: 'app', groups: ['dev'] }), key);
    const { status, identity } = await endpoint.call(token);
    expect(status).toBe(200);
    expect(identity).toMatchObject({
      issuer: issuer.issuer,
      subject: 'alice',
      clientId: 'app',
      scopes: ['mcp', 'read'],
      groups: ['dev'],
      token,
      expiresAt: (seconds + 3600) * 1000,
      key: JSON.stringify([issuer.issuer, 'alice']),
    });
  });

  it.each(['RS256', 'RS512', 'PS256', 'PS384'])('accepts %s', async (alg) => {
    const privateKey = (await importJWK(forAnyAlgorithm(await exportJWK(rsa.privateKey)), alg)) as CryptoKey;
    expect((await endpoint.call(await sign(claims(), { ...rsa, alg, privateKey }))).status).toBe(200);
  });

  it.each(['ES384', 'ES512', 'EdDSA', 'Ed25519'])('accepts %s', async (alg) => {
    const other = await makeKey('other', alg);
    const { jwk } = other;
    const at = await startEndpoint({ issuer: issuer.issuer, jwks: { keys: [{ ...jwk }] } });
    expect((await at.call(await sign(claims(), other))).status).toBe(200);
    await at.close();
  });

  it('refuses another issuer, byte for byte', async () => {
    expect(await refusal(await sign(claims({ iss: `${issuer.issuer}/` }), key))).toBe(
      'The access token comes from another issuer',
    );
    expect(await refusal(await sign(without('iss'), key))).toBe('The access token comes from another issuer');
  });

  it('refuses the audience of a sibling, and a token without an audience', async () => {
    const text = 'The access token is for another audience';
    expect(await refusal(await sign(claims({ aud: 'https://mcp.example.com/other' }), key))).toBe(text);
    expect(await refusal(await sign(claims({ aud: `${RESOURCE}/` }), key))).toBe(text);
    expect(await refusal(await sign(without('aud'), key))).toBe(text);
    expect((await endpoint.call(await sign(claims({ aud: ['a', RESOURCE] }), key))).status).toBe(200);
  });

  it('prefers a configured audience over the resource URL', async () => {
    const at = await startEndpoint({ issuer: issuer.issuer, audience: 'toolhive' });
    expect((await at.call(await sign(claims({ aud: 'toolhive' }), key))).status).toBe(200);
    await refusal(await sign(claims(), key), at);
    expect(at.authenticator.warnings).toEqual([]);
    await at.close();
  });

  it('skips the audience check if no audience is known, and warns', async () => {
    const at = await startEndpoint({ issuer: issuer.issuer }, { resourceUrl: undefined });
    expect((await at.call(await sign(without('aud'), key))).status).toBe(200);
    expect(at.authenticator.warnings).toEqual([expect.stringContaining('audience of tokens is not checked')]);
    await at.close();
  });

  it('refuses a token at the second of its expiry, with no leeway', async () => {
    expect((await endpoint.call(await sign(claims({ exp: seconds + 1 }), key))).status).toBe(200);
    expect(await refusal(await sign(claims({ exp: seconds }), key))).toBe('The access token has expired');
    expect(await refusal(await sign(claims({ exp: seconds - 3600 }), key))).toBe('The access token has expired');
    await refusal(await sign(without('exp'), key));
  });

  it('allows 30 seconds of clock skew for not-before', async () => {
    expect((await endpoint.call(await sign(claims({ nbf: seconds + 30 }), key))).status).toBe(200);
    expect(await refusal(await sign(claims({ nbf: seconds + 31 }), key))).toBe('The access token is not valid yet');
  });

  it('refuses a foreign signature and a changed payload', async () => {
    await refusal(await sign(claims(), stranger));
    const [header, , signature] = (await sign(claims(), key)).split('.');
    await refusal(`${header}.${encode(claims({ sub: 'root' }))}.${signature}`);
  });

  it('refuses alg none in any spelling', async () => {
    for (const alg of ['none', 'None', 'NONE', '']) await refusal(`${encode({ alg })}.${encode(claims())}.`);
  });

  it('refuses HS256 with the public key as the secret', async () => {
    const pem = await exportSPKI((await importJWK(rsa.jwk, 'RS256')) as CryptoKey);
    for (const secret of [pem, pem.trim(), JSON.stringify(rsa.jwk)]) {
      const input = `${encode({ alg: 'HS256', kid: 'rsa' })}.${encode(claims())}`;
      await refusal(`${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`);
    }
  });

  it('reads no keys for a token that is invalid under any key', async () => {
    const at = await startEndpoint({ issuer: issuer.issuer });
    const before = issuer.asked.length;
    await refusal(`${encode({ alg: 'none' })}.${encode(claims())}.`, at);
    await refusal(`${encode({ alg: 'HS256', kid: 'k1' })}.${encode(claims())}.AAAA`, at);
    await refusal(await sign(claims(), key, { typ: 'logout+jwt' }), at);
    expect(issuer.asked).toHaveLength(before);
    await at.close();
  });

  it('refuses an algorithm that does not fit the key', async () => {
    const token = await sign(claims(), { ...stranger, jwk: { kid: 'rsa' } });
    await refusal(token);
  });

  it('ignores keys inside the token', async () => {
    const evil = await startIssuer([stranger.jwk]);
    const brought = { jwk: stranger.jwk, jku: `${evil.issuer}/jwks`, x5u: `${evil.issuer}/x5u` };
    await refusal(await sign(claims(), stranger, brought));
    await refusal(await sign(claims(), { ...stranger, jwk: {} }, { ...brought, kid: 'unheard-of' }));
    expect(evil.asked).toEqual([]);
    await evil.close();
  });

  it('refuses an unknown critical header', async () => {
    const signed = async (header: object) => {
      const input = `${encode({ alg: 'ES256', kid: 'k1', ...header })}.${encode(claims())}`;
      const how = { name: 'ECDSA', hash: 'SHA-256' };
      const signature = await crypto.subtle.sign(how, key.privateKey, Buffer.from(input));
      return `${input}.${Buffer.from(signature).toString('base64url')}`;
    };
    expect((await endpoint.call(await signed({}))).status).toBe(200);
    await refusal(await signed({ crit: ['exp2'], exp2: 1 }));
    await refusal(await signed({ crit: ['b64'], b64: false }));
  });

  it.each(['at+jwt', 'application/at+jwt', 'AT+JWT', 'JWT', 'jwt', undefined])('accepts typ %s', async (typ) => {
    expect((await endpoint.call(await sign(claims(), key, { typ }))).status).toBe(200);
  });

  it.each(['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'id_token'])('refuses typ %s', async (typ) => {
    expect(await refusal(await sign(claims(), key, { typ }))).toBe('The token is not an access token');
  });

  it.each(['nonce', 'at_hash', 'c_hash'])('refuses an ID token, identified by its %s', async (name) => {
    expect(await refusal(await sign(claims({ [name]: 'x' }), key))).toBe('The token is not an access token');
  });

  it('narrows the type to the required one', async () => {
    const at = await startEndpoint({ issuer: issuer.issuer, required_typ: 'at+jwt' });
    expect((await at.call(await sign(claims(), key, { typ: 'application/at+jwt' }))).status).toBe(200);
    await refusal(await sign(claims(), key, { typ: 'JWT' }), at);
    await refusal(await sign(claims(), key), at);
    await at.close();
  });

  it('accepts only at+jwt from the embedded server, and reads its keys without any call', async () => {
    const at = await startEndpoint(
      { issuer: issuer.issuer, embedded: true },
      { embeddedKeys: () => ({ keys: [stranger.jwk] }), embeddedSessions: { claimsOf: () => ({}) } },
    );
    const before = issuer.asked.length;
    const own = claims({ tsid: 'login' });
    expect((await at.call(await sign(own, stranger, { typ: 'at+jwt' }))).status).toBe(200);
    await refusal(await sign(own, stranger, { typ: 'JWT' }), at);
    await refusal(await sign(own, stranger), at);
    await refusal(await sign(own, { ...stranger, jwk: { kid: 'unheard-of' } }, { typ: 'at+jwt' }), at);
    expect(issuer.asked).toHaveLength(before);
    await at.close();
  });

  it('refuses to start if the embedded server does not exist', async () => {
    await expect(startEndpoint({ issuer: issuer.issuer, embedded: true })).rejects.toThrow(/authorization server/);
  });

  it('refuses a token without a subject, and any but the required one', async () => {
    await refusal(await sign(without('sub'), key));
    await refusal(await sign(claims({ sub: '' }), key));
    const at = await startEndpoint({ issuer: issuer.issuer, required_subject: 'system:serviceaccount:a:b' });
    expect((await at.call(await sign(claims({ sub: 'system:serviceaccount:a:b' }), key))).status).toBe(200);
    expect(await refusal(await sign(claims(), key), at)).toBe(
      'The access token is for a subject that is not accepted here',
    );
    await at.close();
  });

  it('refuses a token with too many claims instead of cutting them', async () => {
    const groups = Array.from({ length: 1001 }, (_, i) => `g${i}`);
    expect(await refusal(await sign(claims({ groups }), key))).toBe(
      'The access token carries more claims than are accepted',
    );
  });

  it('never echoes a token or a parser’s text', async () => {
    const token = await sign(claims({ aud: 'secret-audience' }), key);
    for (const bad of [token, 'a.b.c', 'e30.e30.e30', `${encode({ alg: 'ES256' })}.!!.x`]) {
      const answer = await endpoint.call(bad);
      expect(answer.status).toBe(401);
      const shown = answer.text + JSON.stringify(answer.headers);
      expect(shown).not.toContain(bad);
      expect(shown).not.toMatch(/secret-audience|JSON at position|Unexpected|jose|JWS|Invalid/);
    }
  });
});

function forAnyAlgorithm(jwk: JWK): JWK {
  const copy = { ...jwk };
  delete copy.alg;
  return copy;
}
