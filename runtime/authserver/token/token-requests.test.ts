import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '../ids.ts';
import { startTokenServer, type Came, type TokenServer } from './testdata/token-server.ts';

describe('token endpoint', () => {
  let server: TokenServer;
  beforeAll(async () => {
    server = await startTokenServer();
  });
  afterAll(() => server.close());

  const invalid = ({ status, body, headers }: Came, error = 'invalid_request') => {
    expect(body.error).toBe(error);
    expect(status).toBe(400);
    expect(headers['cache-control']).toBe('no-store');
  };

  it.each([
    ['no grant type', {}, 'invalid_request'],
    ['another grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['the name of a member of every object', { grant_type: 'constructor' }, 'unsupported_grant_type'],
    ['no client', { grant_type: 'refresh_token', refresh_token: 'x' }, 'invalid_request'],
    ['an empty client', { grant_type: 'refresh_token', refresh_token: 'x', client_id: '' }, 'invalid_request'],
    ['no code', { grant_type: 'authorization_code', client_id: newId() }, 'invalid_request'],
    ['no refresh token', { grant_type: 'refresh_token', client_id: newId() }, 'invalid_request'],
  ])('rejects a request with %s', async (_name, form, error) => {
    invalid(await server.post('/oauth/token', form), error);
  });

  it('rejects a repeated parameter, and too many parameters', async () => {
    const form: [string, string][] = [
      ['grant_type', 'refresh_token'],
      ['client_id', 'a'],
      ['client_id', 'a'],
    ];
    invalid(await server.post('/oauth/token', form));
    invalid(
      await server.post(
        '/oauth/token',
        Array.from({ length: 80 }, (_, i) => [`p${i}`, 'x'] as const),
      ),
    );
  });

  it('rejects another content type, and accepts parameters of the content type', async () => {
    invalid(await server.send('POST', '/oauth/token', '{"grant_type":"refresh_token"}', 'application/json'));
    invalid(await server.send('POST', '/oauth/token', 'grant_type=refresh_token', 'text/plain'));
    const type = 'Application/X-WWW-Form-Urlencoded; charset=utf-8';
    invalid(await server.send('POST', '/oauth/token', 'grant_type=x', type), 'unsupported_grant_type');
  });

  it('rejects a large request with 413', async () => {
    const answer = await server.send('POST', '/oauth/token', `grant_type=${'x'.repeat(70_000)}`);
    expect(answer.status).toBe(413);
    expect(answer.body.error).toBe('invalid_request');
  });

  it('ignores the query', async () => {
    invalid(await server.post('/oauth/token?grant_type=refresh_token&client_id=c&refresh_token=x', {}));
  });

  it('accepts POST only', async () => {
    const answer = await server.send('GET', '/oauth/token');
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe('POST');
  });

  it('accepts a client in an Authorization header, and rejects two different ones', async () => {
    const { clientId, tokens } = await server.login();
    const basic = (user: string) => ({ authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}` });
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    expect((await server.post('/oauth/token', form, basic(clientId))).status).toBe(200);
    invalid(await server.post('/oauth/token', { ...form, client_id: clientId }, basic('another')));
    const forgotten = await server.post('/oauth/token', form, basic('forgotten'));
    expect(forgotten.status).toBe(401);
    expect(forgotten.headers['www-authenticate']).toMatch(/^Basic /);
  });

  it('accepts scripts of every web page', async () => {
    const preflight = await server.send('OPTIONS', '/oauth/token');
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': expect.stringContaining('Content-Type'),
    });
    expect((await server.post('/oauth/token', {})).headers['access-control-allow-origin']).toBe('*');
  });

  it('answers 404 for variants of the path', async () => {
    for (const path of ['/oauth/token/', '/OAuth/token', '//oauth/token', '/oauth/%74oken'])
      expect((await server.post(path, {})).status).toBe(404);
  });
});
