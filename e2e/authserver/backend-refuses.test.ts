import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { sendModern } from '../gateway/session-client.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange } from './arrangement.ts';
import { whoIs } from './call-tool.ts';
import { accountAt, type ProviderSpec } from './providers.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };

afterEach(closeAll);

/** Starts a backend that takes the provider's tokens and refuses calls as told. */
async function withBackend(refuse: (authorization: string) => boolean, provider = OKTA) {
  const tokens: string[] = [];
  const backend = closing(
    await servePlain({
      tools: 1,
      intercept: ({ headers: { authorization = '' } }, response, body) => {
        if (!body.includes('tools/call')) return false;
        tokens.push(authorization);
        if (!refuse(authorization)) return false;
        response.writeHead(401, { 'www-authenticate': 'Bearer resource_metadata="http://169.254.169.254/"' }).end();
        return true;
      },
    }),
  );
  const auth = { type: 'upstream_inject', provider_name: 'okta' } as const;
  const backends = [{ name: 'picky', transport: 'streamable-http' as const, url: backend.url, auth }];
  const setup = closing(await arrange({ providers: [provider], backends }));
  const client = await setup.client();
  const login = await client.login({ user: 'alice' });
  const call = () => {
    const bearer = { authorization: `Bearer ${login.access_token}` };
    return sendModern(setup.resource, 'tools/call', { name: 'picky_tool_0', arguments: { text: 'x' } }, bearer);
  };
  const refreshes = () =>
    setup.providers.okta?.odd?.of('/token').filter(({ form }) => form.get('grant_type') === 'refresh_token').length;
  return { setup, client, login, call, tokens, refreshes };
}

describe('a backend’s 401 to an injected token', () => {
  it('renews the token once and repeats the call; the client sees a result and no challenge', async () => {
    const seen = new Set<string>();
    const at = await withBackend((token) => seen.size === 0 && seen.add(token).size === 1);
    const reply = await at.call();
    expect(reply.answer.result).toMatchObject({ content: expect.anything() });
    expect(reply.headers['www-authenticate']).toBeUndefined();
    expect(new Set(at.tokens).size).toBe(2);
    expect(at.refreshes()).toBe(1);
  });

  it('requires a login at the provider if it comes twice, without a loop or a relayed challenge', async () => {
    const at = await withBackend(() => true);
    const reply = await at.call();
    expect(reply.status).toBe(200);
    expect(reply.headers['www-authenticate']).toBeUndefined();
    expect(reply.text).toContain('/connections/link?ticket=');
    expect(reply.text).not.toContain('169.254');
    expect(at.tokens).toHaveLength(2);
    expect(at.refreshes()).toBe(1);
    const refused = await at.client.refresh(at.login.refresh_token);
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 400, error: 'invalid_grant' });
  });

  it('renews the token once for many parallel calls', async () => {
    let first: string | undefined;
    const at = await withBackend((token) => token === (first ??= token));
    const replies = await Promise.all(Array.from({ length: 20 }, at.call));
    for (const { answer } of replies) expect(answer.result).toMatchObject({ content: expect.anything() });
    expect(at.refreshes()).toBe(1);
  });

  it('requires a login if the provider gives no other token', async () => {
    const at = await withBackend(() => true, { ...OKTA, options: { oidc: true, refresh: 'none' } });
    expect((await at.call()).text).toContain('/connections/link?ticket=');
    expect(at.tokens).toHaveLength(1);
  });
});

describe('a backend’s redirect', () => {
  it('has no effect, so the user’s token reaches no other host', async () => {
    const stolen: string[] = [];
    const internal = closing(
      await servePlain({
        intercept: ({ headers }) => {
          stolen.push(String(headers.authorization));
          return false;
        },
      }),
    );
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('tools/call')) return false;
          response.writeHead(307, { location: internal.url }).end();
          return true;
        },
      }),
    );
    const auth = { type: 'upstream_inject', provider_name: 'okta' } as const;
    const backends = [{ name: 'moved', transport: 'streamable-http' as const, url: backend.url, auth }];
    const setup = closing(await arrange({ providers: [OKTA], backends }));
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    const reply = await sendModern(
      setup.resource,
      'tools/call',
      { name: 'moved_tool_0', arguments: { text: 'x' } },
      { authorization: `Bearer ${token}` },
    );
    expect(reply.status).toBe(200);
    expect(stolen).toEqual([]);
    expect(accountAt(setup.providers.okta!, await whoIs(setup.resource, token, 'okta'))).toBe('alice');
  });
});
