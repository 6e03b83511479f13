import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { newId } from '../ids.ts';
import { RESOURCE, START, startTokenServer, type Came, type TokenServer } from './testdata/token-server.ts';

/** The name of a secret file is the secret here. */
const SECRET = 'a+b c%41:ü/=';
const PLAIN = 'plain+secret/with=signs';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const KEYS = await generateKeyPair('ES256');
const OTHERS = await generateKeyPair('ES256');
const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(KEYS.publicKey)), kid: 'k', alg: 'ES256' }] });
const MACHINE = { grants: ['client_credentials'] };
const WEB = 'https://desk.example/callback';

const CLIENTS = [
  { client_id: 'robot', client_secret_file: SECRET, ...MACHINE, scopes: ['mcp', 'offline_access'] },
  { client_id: 'plain', client_secret_file: PLAIN, ...MACHINE },
  { client_id: 'blank', client_secret_file: ' ', ...MACHINE },
  { client_id: 'signer', jwks, ...MACHINE },
  { client_id: 'desk', client_secret_file: PLAIN, redirect_uris: [WEB] },
  { client_id: 'open', redirect_uris: [WEB] },
];

const formEncoded = (text: string) => encodeURIComponent(text).replaceAll('%20', '+');
const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

let server: TokenServer;
beforeAll(async () => {
  server = await startTokenServer({ config: { clients: CLIENTS } });
});
afterAll(() => server.close());

const form = { grant_type: 'client_credentials' };
const ask = (more: Record<string, string>, headers?: Record<string, string>) =>
  server.post('/oauth/token', { ...form, ...more }, headers);

function expectRefused({ status, body }: Came, error = 'invalid_client') {
  expect(body.error).toBe(error);
  expect(status).toBe(error === 'invalid_client' ? 401 : 400);
}

interface Changes {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly key?: typeof KEYS.privateKey;
}

function assertion({ claims = {}, header = {}, key = KEYS.privateKey }: Changes = {}): Promise<string> {
  const at = server.clock.time / 1000;
  // JSON leaves undefined claims out.
  const all = { iss: 'signer', sub: 'signer', aud: server.origin, iat: at, exp: at + 300, jti: newId(), ...claims };
  return new SignJWT(all).setProtectedHeader({ alg: 'ES256', kid: 'k', ...header }).sign(key);
}

const askWith = (client_assertion: string, more: Record<string, string> = {}) =>
  ask({ client_assertion, client_assertion_type: ASSERTION_TYPE, ...more });

describe('authentication of a registered client', () => {
  it.each([SECRET, PLAIN])(
    'accepts the secret %s in the header, form-encoded or as it is, and in the body',
    async (secret) => {
      const id = secret === SECRET ? 'robot' : 'plain';
      for (const came of [
        await ask({}, basic(id, formEncoded(secret))),
        await ask({ client_id: id }, basic(id, secret)),
        await ask({ client_id: id, client_secret: secret }),
      ])
        expect(came.status).toBe(200);
    },
  );

  it('refuses a missing, wrong, blank or foreign secret', async () => {
    expectRefused(await ask({ client_id: 'robot' }));
    expectRefused(await ask({ client_id: 'robot', client_secret: `${SECRET}x` }));
    expectRefused(await ask({ client_id: 'robot', client_secret: SECRET.replace('+', ' ') }));
    expectRefused(await ask({ client_id: 'robot', client_secret: PLAIN }));
    expectRefused(await ask({ client_id: 'robot' }, basic('robot', '')));
    expectRefused(await ask({ client_id: 'blank', client_secret: ' ' }));
    expectRefused(await ask({ client_id: 'robot' }, basic('plain', PLAIN)), 'invalid_request');
    const came = await ask({}, basic('robot', 'x'));
    expect(came.headers['www-authenticate']).toMatch(/^Basic/);
  });

  it('accepts a signed assertion once', async () => {
    const text = await assertion();
    const came = await Promise.all([1, 2, 3, 4].map(() => askWith(text)));
    expect(came.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
    expectRefused(await askWith(text, { client_id: 'signer' }));
    expect((await askWith(await assertion({ claims: { aud: [server.origin] } }))).status).toBe(200);
  });

  it.each<[string, () => Changes]>([
    ['of another key', () => ({ key: OTHERS.privateKey })],
    ['for another audience', () => ({ claims: { aud: 'https://other.example' } })],
    ['for the token endpoint', () => ({ claims: { aud: `${server.origin}/oauth/token` } })],
    ['for two audiences', () => ({ claims: { aud: [server.origin, 'https://other.example'] } })],
    ['of another issuer', () => ({ claims: { iss: 'robot' } })],
    ['of another subject', () => ({ claims: { sub: 'robot' } })],
    ['that has expired', () => ({ claims: { exp: START / 1000 - 1 } })],
    ['without expiry', () => ({ claims: { exp: undefined } })],
    ['without jti', () => ({ claims: { jti: undefined } })],
    ['of the future', () => ({ claims: { iat: START / 1000 + 60 } })],
    ['that is valid for a day', () => ({ claims: { exp: START / 1000 + 86_400 } })],
    ['of another type', () => ({ header: { typ: 'at+jwt' } })],
  ])('refuses an assertion %s', async (_name, changes) => {
    expectRefused(await askWith(await assertion(changes()), { client_id: 'signer' }));
  });

  it('refuses an unsigned assertion, one signed by a secret, and one beside a secret', async () => {
    const [, payload = ''] = (await assertion()).split('.');
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    expectRefused(await askWith(none));
    const key = Buffer.from(jwks);
    const mac = await new SignJWT(decodeJwt(await assertion()))
      .setProtectedHeader({ alg: 'HS256', kid: 'k' })
      .sign(key);
    expectRefused(await askWith(mac));
    expectRefused(await askWith('x'));
    expectRefused(await askWith(await assertion(), { client_secret: 'x' }), 'invalid_request');
    expectRefused(await ask({ client_assertion: await assertion() }));
    expectRefused(await ask({ client_id: 'signer', client_secret: 'x' }));
  });

  it('reads the keys of a URL again for an unknown key, and answers 503 while they cannot be read', async () => {
    let published: string | undefined;
    const http = createServer((_, res) => void res.writeHead(published === undefined ? 500 : 200).end(published));
    await once(http.listen(0, '127.0.0.1'), 'listening');
    const jwks_url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/jwks`;
    const clients = [{ client_id: 'signer', jwks_url, ...MACHINE }];
    const remote = await startTokenServer({ config: { clients } });
    const askRemote = async (key: typeof KEYS.privateKey, kid: string) => {
      const client_assertion = await assertion({ claims: { aud: remote.origin }, header: { kid }, key });
      return remote.post('/oauth/token', { ...form, client_assertion, client_assertion_type: ASSERTION_TYPE });
    };
    expect((await askRemote(KEYS.privateKey, 'k')).status).toBe(503);
    published = jwks;
    remote.clock.time += 60_000;
    server.clock.time += 60_000;
    expect((await askRemote(KEYS.privateKey, 'k')).status).toBe(200);
    published = JSON.stringify({ keys: [{ ...(await exportJWK(OTHERS.publicKey)), kid: 'new', alg: 'ES256' }] });
    remote.clock.time += 60_000;
    server.clock.time += 60_000;
    expect((await askRemote(OTHERS.privateKey, 'new')).status).toBe(200);
    expectRefused(await askRemote(KEYS.privateKey, 'k'));
    await remote.close();
    http.close();
  });

  it('needs the secret for a code, a refresh and a revocation', async () => {
    const code = await server.code('desk', { redirect_uri: WEB });
    const redirect = { redirect_uri: WEB };
    expectRefused(await server.redeem(code, 'desk', redirect));
    const { body, status } = await server.redeem(code, 'desk', { ...redirect, client_secret: PLAIN });
    expect(status).toBe(200);
    expectRefused(await server.refresh(body.refresh_token, 'desk'));
    expectRefused(await server.post('/oauth/revoke', { token: body.refresh_token, client_id: 'desk' }));
    expect((await server.refresh(body.refresh_token, 'desk', { client_secret: PLAIN })).status).toBe(200);
  });

  it('takes a public client without a secret', async () => {
    const code = await server.code('open', { redirect_uri: WEB });
    expect((await server.redeem(code, 'open', { redirect_uri: WEB })).status).toBe(200);
  });

  it('refuses a client that was removed from the configuration', async () => {
    const { storage } = server;
    const before = await startTokenServer({ config: { clients: CLIENTS }, storage });
    const after = await startTokenServer({ storage });
    const { body } = await before.redeem(await before.code('open', { redirect_uri: WEB }), 'open', {
      redirect_uri: WEB,
    });
    expectRefused(await after.refresh(body.refresh_token, 'open'));
    await Promise.all([before.close(), after.close()]);
  });
});

describe('client credentials grant', () => {
  it('issues a token whose subject is the client, without a refresh token', async () => {
    const { body } = await ask({ client_id: 'robot', client_secret: SECRET });
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'mcp' });
    expect(body).not.toHaveProperty('refresh_token');
    expect(decodeJwt(body.access_token)).toMatchObject({ sub: 'robot', client_id: 'robot', aud: RESOURCE });
    expect(server.events.at(-1)).toMatchObject({ type: 'auth_token_issued', details: { client_id: 'robot' } });
  });

  it('narrows the scopes to those of the client', async () => {
    const robot = { client_id: 'robot', client_secret: SECRET };
    expect((await ask({ ...robot, scope: 'mcp admin' })).body.scope).toBe('mcp');
    expectRefused(await ask({ ...robot, scope: 'admin offline_access' }), 'invalid_scope');
  });

  it('issues tokens for the endpoint only', async () => {
    const robot = { client_id: 'robot', client_secret: SECRET };
    expect((await ask({ ...robot, resource: RESOURCE })).status).toBe(200);
    expectRefused(await ask({ ...robot, resource: 'https://other.example/mcp' }), 'invalid_target');
  });

  it('serves registered clients with this grant only', async () => {
    expectRefused(await ask({ client_id: 'desk', client_secret: PLAIN }), 'unauthorized_client');
    expectRefused(await ask({ client_id: 'open' }), 'unauthorized_client');
    expectRefused(await ask({ client_id: await server.client() }), 'unauthorized_client');
    expectRefused(await ask({ client_id: 'nobody' }));
    const code = await server.code('robot');
    expectRefused(await server.redeem(code, 'robot', { client_secret: SECRET }), 'unauthorized_client');
  });

  it('keeps one session for eight grants at once, and ends all of them by a revocation', async () => {
    const came = await Promise.all(Array.from({ length: 8 }, () => ask({}, basic('plain', PLAIN))));
    const tokens = came.map(({ body }) => body.access_token);
    const [tsid, ...others] = new Set(tokens.map((token) => decodeJwt(token).tsid));
    expect(others).toEqual([]);
    await server.post('/oauth/revoke', { token: tokens[0] ?? '' }, basic('plain', PLAIN));
    expect(await server.storage.getSession(String(tsid))).toBeUndefined();
    const next = decodeJwt((await ask({}, basic('plain', PLAIN))).body.access_token);
    expect(next.tsid).not.toBe(tsid);
  });
});
