import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startLoginEndpoints, userNamed, type LoginEndpointServer } from '../testdata/login-endpoints.ts';

const WEB = 'https://desk.example/callback';
const DESK = { client_id: 'desk', display_name: 'Desk', verified: true, redirect_uris: [WEB] };
const LOOPBACK = ['http://127.0.0.1/callback', 'https://localhost/callback', 'desk://callback'];

let server: LoginEndpointServer;
beforeEach(async () => {
  const clients = [
    { ...DESK, consent: 'implicit' },
    { ...DESK, client_id: 'asking', scopes: ['mcp'] },
    { ...DESK, client_id: 'local', consent: 'implicit', redirect_uris: LOOPBACK },
  ];
  server = await startLoginEndpoints({ config: { clients } });
});
afterEach(() => server.close());

const ask = (client: string, changes: Readonly<Record<string, string>> = {}, cookie?: string) =>
  server.visit(server.authorizeUrl(client, { redirect_uri: WEB, ...changes }), { cookie });

describe('consent for a registered client', () => {
  it('has a page that calls the name verified', async () => {
    const { text, status } = await ask('asking');
    expect(status).toBe(200);
    expect(text).toContain('Desk');
    expect(text).toContain('Verified by the administrator');
    expect(text).not.toContain('not verified');
    expect(server.steps).toEqual([]);
  });

  it('needs no page when it is implicit, unless the client asks for the page', async () => {
    expect((await ask('desk')).text).toBe('the next step');
    expect(server.steps[0]?.login).toMatchObject({ remaining: ['okta'], request: { client_id: 'desk' } });
    expect((await ask('desk', { prompt: 'consent' })).text).toContain('wants to use');
    const cookie = await server.logIn(userNamed('alice'));
    expect((await ask('desk', { prompt: 'none' }, cookie)).text).toBe('the next step');
    expect((await ask('asking', { prompt: 'none' }, cookie)).answer.get('error')).toBe('interaction_required');
  });

  it.each(LOOPBACK)('always needs the page with the redirect URI %s', async (redirect_uri) => {
    expect((await ask('local', { redirect_uri })).text).toContain('wants to use');
    expect(server.steps).toEqual([]);
  });

  it('has no part in a redirect URI that is not registered', async () => {
    const { status, text } = await ask('desk', { redirect_uri: 'https://evil.example/callback' });
    expect(status).toBe(400);
    expect(text).toContain('wrong place');
    expect(server.steps).toEqual([]);
  });
});
