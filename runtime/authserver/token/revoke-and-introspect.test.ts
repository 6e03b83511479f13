import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { StorageUnavailable } from '../storage/storage.ts';
import { newId } from '../ids.ts';
import { alice, RESOURCE, START, startTokenServer, type TokenServer } from './testdata/token-server.ts';

const tsidOf = (token: string) => String(decodeJwt(token).tsid);

describe('revocation', () => {
  let server: TokenServer;
  beforeAll(async () => {
    server = await startTokenServer();
  });
  afterAll(() => server.close());

  const revoke = (token: string, clientId: string, more = {}) =>
    server.post('/oauth/revoke', { token, client_id: clientId, ...more });

  it.each(['refresh_token', 'access_token'] as const)('ends the login of a client’s %s', async (kind) => {
    const { clientId, tokens } = await server.login();
    const answer = await revoke(tokens[kind], clientId, { token_type_hint: kind });
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('');
    expect(await server.storage.getSession(tsidOf(tokens.access_token))).toBeUndefined();
    expect(server.ended).toContain(tsidOf(tokens.access_token));
    expect((await server.refresh(tokens.refresh_token, clientId)).body.error).toBe('invalid_grant');
    expect(
      server.events.find(({ details }) => details?.client_id === clientId && details.reason !== undefined),
    ).toMatchObject({
      type: 'auth_token_revoked',
      subjects: { user_id: alice.sub },
    });
  });

  it('ends the login of a refresh token that has a successor', async () => {
    const { clientId, tokens } = await server.login();
    const next = await server.refresh(tokens.refresh_token, clientId);
    await revoke(tokens.refresh_token, clientId);
    expect((await server.refresh(next.body.refresh_token, clientId)).body.error).toBe('invalid_grant');
  });

  it('changes nothing for an unknown or another client’s token, with the same answer', async () => {
    const { clientId, tokens } = await server.login();
    for (const token of [tokens.refresh_token, tokens.access_token, 'x', `${tokens.access_token}x`, 'a.b.c.d'])
      expect(await revoke(token, newId())).toMatchObject({ status: 200, text: '' });
    expect((await revoke('x', clientId)).status).toBe(200);
    expect((await server.refresh(tokens.refresh_token, clientId)).status).toBe(200);
  });

  it('changes nothing for an expired access token', async () => {
    const { clientId, tokens } = await server.login();
    server.clock.time += 3_600_000;
    expect((await revoke(tokens.access_token, clientId)).status).toBe(200);
    expect((await server.refresh(tokens.refresh_token, clientId)).status).toBe(200);
  });

  it('requires a token and a client', async () => {
    expect((await server.post('/oauth/revoke', { client_id: newId() })).body.error).toBe('invalid_request');
    expect((await server.post('/oauth/revoke', { token: 't' })).body.error).toBe('invalid_request');
  });

  it('answers 503 while the storage is down', async () => {
    const { clientId, tokens } = await server.login();
    const down = new Proxy(server.storage, { get: () => () => Promise.reject(new StorageUnavailable('down')) });
    const broken = await startTokenServer({ storage: down });
    const answer = await broken.post('/oauth/revoke', { token: tokens.refresh_token, client_id: clientId });
    expect(answer.status).toBe(503);
    await broken.close();
  });
});

describe('introspection', () => {
  let server: TokenServer;
  beforeAll(async () => {
    server = await startTokenServer({ introspection: true });
  });
  afterAll(() => server.close());

  const basic = (user: string, password: string) => {
    const credentials = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
    return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
  };
  const introspect = (token: string) => server.post('/oauth/introspect', { token }, basic('gate', 's3cret&+ü'));

  it('describes an access token', async () => {
    const { clientId, tokens } = await server.login();
    const { status, body, headers } = await introspect(tokens.access_token);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toEqual({
      active: true,
      iss: server.origin,
      sub: alice.sub,
      client_id: clientId,
      username: 'alice@example.com',
      token_type: 'Bearer',
      scope: 'mcp offline_access',
      aud: RESOURCE,
      exp: START / 1000 + 3600,
      iat: START / 1000,
      jti: decodeJwt(tokens.access_token).jti,
    });
  });

  it('describes a refresh token until it has a successor', async () => {
    const { clientId, tokens } = await server.login();
    expect((await introspect(tokens.refresh_token)).body).toMatchObject({
      active: true,
      sub: alice.sub,
      client_id: clientId,
      scope: 'mcp offline_access',
      exp: START / 1000 + 7 * 86_400,
    });
    await server.refresh(tokens.refresh_token, clientId);
    expect((await introspect(tokens.refresh_token)).body).toEqual({ active: false });
  });

  it('reports unknown tokens, expired tokens and tokens of ended logins as inactive', async () => {
    const { tokens } = await server.login();
    for (const token of ['x', `${tokens.access_token}x`])
      expect((await introspect(token)).body).toEqual({ active: false });
    await server.storage.endSession(tsidOf(tokens.access_token));
    for (const token of [tokens.access_token, tokens.refresh_token])
      expect((await introspect(token)).body).toEqual({ active: false });
    const other = await server.login();
    server.clock.time += 3_600_000;
    expect((await introspect(other.tokens.access_token)).body).toEqual({ active: false });
  });

  it('requires a configured client, by Basic or in the form', async () => {
    const { tokens } = await server.login();
    const form = { token: tokens.access_token };
    const posted = { client_id: 'gate', client_secret: 's3cret&+ü' };
    expect((await server.post('/oauth/introspect', { ...form, ...posted })).body.active).toBe(true);
    const refused = [
      await server.post('/oauth/introspect', form),
      await server.post('/oauth/introspect', { ...form, client_id: 'gate' }),
      await server.post('/oauth/introspect', { ...form, ...posted, client_secret: 'x' }),
      await server.post('/oauth/introspect', form, basic('gate', 'x')),
      await server.post('/oauth/introspect', form, basic('other', 's3cret&+ü')),
      await server.post('/oauth/introspect', form, basic('empty', '')),
    ];
    for (const { status, body } of refused) expect([status, body.error]).toEqual([401, 'invalid_client']);
    expect(refused[3]?.headers['www-authenticate']).toMatch(/^Basic /);
  });

  it('forbids calls from scripts of web pages', async () => {
    expect((await introspect('x')).headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('answers 404 without configured clients', async () => {
    const without = await startTokenServer();
    expect((await without.post('/oauth/introspect', { token: 'x' })).status).toBe(404);
    await without.close();
  });
});
