import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { StorageUnavailable } from '../storage/storage.ts';
import {
  alice,
  CHALLENGE,
  REDIRECT,
  RESOURCE,
  SECRETS,
  START,
  startTokenServer,
  VERIFIER,
  type TokenServer,
} from './testdata/token-server.ts';

describe('redeemCode', () => {
  let server: TokenServer;
  let clientId: string;

  beforeAll(async () => {
    server = await startTokenServer();
    clientId = await server.client();
  });
  afterAll(() => server.close());

  const refused = (answer: Awaited<ReturnType<TokenServer['redeem']>>, status: number, error: string) => {
    expect(answer.body).toMatchObject({ error, error_description: expect.any(String) });
    expect(answer.status).toBe(status);
    expect(answer.headers['cache-control']).toBe('no-store');
  };

  it('issues an access token (RFC 9068) and a refresh token', async () => {
    const answer = await server.redeem(await server.code(clientId), clientId);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'mcp offline_access' });
    const options = { issuer: server.origin, audience: RESOURCE, typ: 'at+jwt', currentDate: new Date(START) };
    const { payload } = await jwtVerify(answer.body.access_token, createLocalJWKSet(server.keys.jwks), options);
    expect(payload).toEqual({
      iss: server.origin,
      sub: alice.sub,
      aud: RESOURCE,
      iat: START / 1000,
      exp: START / 1000 + 3600,
      jti: expect.any(String),
      client_id: clientId,
      scope: 'mcp offline_access',
      tsid: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      name: 'Alice',
      email: 'alice@example.com',
      email_verified: true,
    });
    const session = await server.storage.getSession(String(payload.tsid));
    expect(session).toMatchObject({ client_id: clientId, sub: alice.sub, gen: 0, asked_at: START, answered_at: START });
    expect(JSON.stringify(session)).not.toContain(answer.body.refresh_token.split('.')[1]);
  });

  it('omits an email address that its provider calls unverified', async () => {
    const user = { ...alice, email_verified: false };
    const { body } = await server.redeem(await server.code(clientId, {}, user), clientId);
    const { payload } = await jwtVerify(body.access_token, createLocalJWKSet(server.keys.jwks), {
      currentDate: new Date(START),
    });
    expect(payload.email_verified).toBe(false);
    expect(payload).not.toHaveProperty('email');
  });

  it('rejects a second redemption and ends the session of the first one only', async () => {
    const code = await server.code(clientId);
    const { body } = await server.redeem(code, clientId);
    const other = await server.redeem(await server.code(clientId), clientId);
    refused(await server.redeem(code, clientId), 400, 'invalid_grant');
    refused(await server.refresh(body.refresh_token, clientId), 400, 'invalid_grant');
    expect((await server.refresh(other.body.refresh_token, clientId)).status).toBe(200);
    expect(await server.storage.getLink(alice.sub, 'okta')).toMatchObject({ state: 'linked' });
    expect(server.events).toContainEqual(
      expect.objectContaining({ type: 'auth_token_revoked', details: { reason: 'its code came a second time' } }),
    );
  });

  it('accepts one of ten concurrent redemptions', async () => {
    const code = await server.code(clientId);
    const answers = await Promise.all(Array.from({ length: 10 }, () => server.redeem(code, clientId)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.error === 'invalid_grant')).toHaveLength(9);
  });

  it('rejects another client and keeps the code valid', async () => {
    const code = await server.code(clientId);
    refused(await server.redeem(code, await server.client()), 400, 'invalid_grant');
    refused(await server.redeem(code, 'nobody'), 401, 'invalid_client');
    expect((await server.redeem(code, clientId)).status).toBe(200);
  });

  it.each([
    ['another redirect URI', { redirect_uri: `${REDIRECT}/` }, 'invalid_grant'],
    ['a wrong verifier', { code_verifier: VERIFIER.replace('d', 'e') }, 'invalid_grant'],
    ['the challenge instead of the verifier', { code_verifier: CHALLENGE }, 'invalid_grant'],
    ['no verifier', { code_verifier: '' }, 'invalid_request'],
    ['a foreign resource', { resource: `${RESOURCE}/` }, 'invalid_target'],
  ])('rejects %s and keeps the code valid', async (_name, changes, error) => {
    const code = await server.code(clientId);
    refused(await server.redeem(code, clientId, changes), 400, error);
    expect((await server.redeem(code, clientId)).status).toBe(200);
  });

  it('rejects a short verifier, although its hash matches', async () => {
    const short = 'abc';
    const { createHash } = await import('node:crypto');
    const code_challenge = createHash('sha256').update(short).digest('base64url');
    const code = await server.code(clientId, { code_challenge });
    refused(await server.redeem(code, clientId, { code_verifier: short }), 400, 'invalid_grant');
  });

  it('rejects a repeated resource', async () => {
    const code = await server.code(clientId);
    const form = { grant_type: 'authorization_code', code, client_id: clientId, code_verifier: VERIFIER };
    const twice = [...Object.entries(form), ['resource', RESOURCE], ['resource', RESOURCE]] as [string, string][];
    refused(await server.post('/oauth/token', twice), 400, 'invalid_target');
    expect((await server.redeem(code, clientId, { resource: '' })).status).toBe(200);
  });

  it('rejects an expired code', async () => {
    const code = await server.code(clientId);
    server.clock.time += 600_000;
    refused(await server.redeem(code, clientId), 400, 'invalid_grant');
  });

  it('rejects a forged code without a read of the storage', async () => {
    const code = await server.code(clientId);
    const [kid, id = '', mac] = code.split('.');
    const before = server.looks.length;
    const other = id.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
    for (const forged of [[kid, other, mac].join('.'), `${kid}.${id}.${'A'.repeat(43)}`, `${code}.`, 'x', 'a.b.c'])
      refused(await server.redeem(forged, clientId), 400, 'invalid_grant');
    expect(server.looks).toHaveLength(before);
  });

  it('makes a forgotten client register again, with 401 invalid_client', async () => {
    const elsewhere = await startTokenServer({ secretFiles: SECRETS });
    const code = await elsewhere.code(clientId);
    await elsewhere.close();
    refused(await server.redeem(code, 'forgotten'), 401, 'invalid_client');
    refused(await server.redeem(code, clientId), 400, 'invalid_grant');
  });

  it('answers 503 while the storage is down', async () => {
    const code = await server.code(clientId);
    const down = new Proxy(server.storage, {
      get: () => () => Promise.reject(new StorageUnavailable('down')),
    });
    const broken = await startTokenServer({ storage: down });
    const answer = await broken.redeem(code, clientId);
    refused(answer, 503, 'temporarily_unavailable');
    expect(answer.headers['retry-after']).toBe('5');
    await broken.close();
  });

  it('records the user who got tokens, without code or token', async () => {
    const code = await server.code(clientId);
    const before = server.events.length;
    const { body } = await server.redeem(code, clientId);
    const lines = server.events.slice(before);
    expect(lines).toEqual([
      {
        type: 'auth_token_issued',
        outcome: 'success',
        source: '127.0.0.1',
        subjects: { user: 'alice@example.com', user_id: alice.sub },
        details: { client_id: clientId },
      },
    ]);
    await server.redeem(`${code}x`, clientId);
    expect(server.events.at(-1)).toMatchObject({ outcome: 'denied', details: { code: 'invalid_grant' } });
    for (const secret of [...code.split('.').slice(1), ...body.refresh_token.split('.').slice(1, 2)])
      expect(JSON.stringify(server.events)).not.toContain(secret);
  });
});
