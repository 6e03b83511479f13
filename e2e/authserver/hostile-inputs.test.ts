import { request as rawRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Robot } from '../robot/robot.ts';
import { arrange, type Arrangement } from './arrangement.ts';
import { register, type OAuthClient } from './oauth-client.ts';

/** The status of a request whose path goes out as it stands. */
function statusOf(origin: string, path: string, method = 'GET', headers: Record<string, string> = {}): Promise<number> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const sent = rawRequest({ hostname, port, path, method, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('an authorization server that is spoken to in odd ways', () => {
  let world: Arrangement;
  let client: OAuthClient;
  beforeAll(async () => {
    world = await arrange({ authServer: { registration: { allowed_redirect_hosts: ['app.example'] } } });
    client = await world.client();
  });
  afterAll(() => world.close());

  it.each(['HTTPS://evil.example/callback', 'HttpS://evil.example/callback', 'hTTPS://evil.example:443/callback'])(
    'lets no client in whose host is not allowed, also with the redirect URI %s',
    async (uri) => {
      const { status, body } = await register(world.origin, { redirect_uris: [uri] });
      expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_redirect_uri' });
    },
  );

  it.each(['/oauth/callback/%zz', '/oauth/callback/%', '/oauth/callback/%c0%ae'])(
    'answers a path that cannot be decoded as a fault of the request: %s',
    async (path) => {
      const status = await statusOf(world.origin, path);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    },
  );

  it.each(['99999', '65536'])('refuses the loopback port %s, which there cannot be', async (port) => {
    const redirect_uri = `http://127.0.0.1:${port}/callback`;
    const page = await new Robot().open(client.begin({ redirect_uri }).url);
    expect(page.status).toBe(400);
  });

  it.each([
    ['//oauth/token', 'POST'],
    ['/oauth/token/', 'POST'],
    ['/OAUTH/token', 'POST'],
    ['/oauth/%74oken', 'POST'],
    ['/oauth/callback/okta/', 'GET'],
    ['/oauth/callback/okta/../../connections', 'GET'],
    ['/oauth/callback/constructor', 'GET'],
    ['/oauth/callback/__proto__', 'GET'],
    ['/connections/', 'GET'],
    ['/connections/link/', 'GET'],
  ])('has nothing at %s', async (path, method) => {
    expect(await statusOf(world.origin, path, method)).toBe(404);
  });

  it.each(['PUT', 'DELETE', 'PATCH', 'TRACE'])('takes no %s', async (method) => {
    for (const path of ['/oauth/authorize', '/oauth/token', '/oauth/consent', '/connections']) {
      expect(await statusOf(world.origin, path, method)).toBe(405);
    }
  });

  it('answers no request that names another host', async () => {
    const headers = { host: 'evil.example' };
    for (const path of ['/oauth/authorize', '/connections', '/.well-known/oauth-authorization-server']) {
      expect(await statusOf(world.origin, path, 'GET', headers)).toBe(403);
    }
    expect(await statusOf(world.origin, '/oauth/token', 'POST', headers)).toBe(403);
  });
});
