import type { IncomingHttpHeaders } from 'node:http';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { Robot } from '../robot/robot.ts';
import { arrange } from './arrangement.ts';
import { callWhoami, toolNames, whoIs } from './call-tool.ts';
import { shortHash } from '../fakes/whoami/describe-caller.ts';
import { tokensOf } from './oauth-client.ts';
import { accountAt, type ProviderSpec } from './providers.ts';
import { setWallClock } from './wall-clock.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
const GITHUB: ProviderSpec = { name: 'github', kind: 'odd', options: { refresh: 'none' } };
const optional = (spec: ProviderSpec) => ({ ...spec, required: false });

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

const start = async (...args: Parameters<typeof arrange>) => closing(await arrange(...args));
const AT_CONNECTIONS = { at: ({ url }: { readonly url: URL }) => url.pathname === '/connections' };
const urlIn = (text: string) => /https?:\/\/[^\s"\\]+\/connections\/link[^\s"\\]*/.exec(text)?.[0] ?? '';

describe('a call that needs a missing upstream token', () => {
  const WITHOUT = { user: 'alice', checks: { 'link=github': false } };

  it('gets an error result with a link URL at HTTP 200, while other calls and other users continue', async () => {
    const setup = await start({ providers: [OKTA, optional(GITHUB)] });
    const client = await setup.client();
    const { access_token: bob } = await client.login({ user: 'bob' });
    const { access_token: alice } = await client.login(WITHOUT);
    const reply = await callWhoami(setup.resource, alice, 'github');
    expect(reply.status).toBe(200);
    expect(reply.answer.result?.isError ?? reply.answer.error).toBeTruthy();
    expect(accountAt(setup.providers.okta!, await whoIs(setup.resource, alice, 'okta'))).toBe('alice');
    expect(accountAt(setup.providers.github!, await whoIs(setup.resource, bob, 'github'))).toBe('bob');
  });

  it('shows one tool connect_<provider> in the backend’s place; its link announces and shows the backend’s tools', async () => {
    const setup = await start({ providers: [OKTA, optional(GITHUB)] });
    const [client, robot] = [await setup.client(), new Robot()];
    const { access_token: token } = await client.login(WITHOUT, { robot });
    const session = await SessionClient.open(setup.resource, { authorization: `Bearer ${token}` });
    const stream = await session.stream();
    expect((await session.toolNames()).sort()).toEqual(['connect_github', 'okta_whoami']);
    const reply = await session.call('connect_github');
    expect(reply.status).toBe(200);
    const link = urlIn(reply.text);
    const page = await robot.walk(link, { user: 'alice' }, AT_CONNECTIONS);
    expect(page.url.pathname).toBe('/connections');
    expect(page.status).toBe(200);
    await stream.waitFor(({ method }) => method === 'notifications/tools/list_changed');
    stream.close();
    expect(await toolNames(setup.resource, token)).toEqual(['github_whoami', 'okta_whoami']);
    expect(accountAt(setup.providers.github!, await whoIs(setup.resource, token, 'github'))).toBe('alice');
  });

  it('never gets another user’s token, also when that user opens the link URL', async () => {
    const setup = await start({ providers: [OKTA, optional(GITHUB)] });
    const client = await setup.client();
    const [alicesBrowser, bobsBrowser] = [new Robot(), new Robot()];
    const { access_token: alice } = await client.login(WITHOUT, { robot: alicesBrowser });
    await client.login({ user: 'bob', checks: { 'link=github': false } }, { robot: bobsBrowser });
    const link = urlIn((await linkReply(setup.resource, alice)).text);
    const refused = await bobsBrowser.open(link);
    expect(refused.status).toBe(403);
    expect(refused.forms).toEqual([]);
    // In a browser without a login, bob signs in at the primary provider.
    const page = await new Robot().walk(link, { user: 'bob' });
    expect(page.status).toBe(403);
    expect(await toolNames(setup.resource, alice)).toContain('connect_github');
  });

  it('gets a link URL that works once', async () => {
    const setup = await start({ providers: [OKTA, optional(GITHUB)] });
    const [client, robot] = [await setup.client(), new Robot()];
    const { access_token: token } = await client.login(WITHOUT, { robot });
    const link = urlIn((await linkReply(setup.resource, token)).text);
    expect((await robot.open(link)).status).toBe(200);
    expect((await robot.walk(link, { user: 'alice' }, AT_CONNECTIONS)).url.pathname).toBe('/connections');
    // The browser that used the link may repeat it for 5 s.
    expect((await new Robot().open(link)).status).toBe(400);
  });
});

async function linkReply(resource: string, token: string) {
  const session = await SessionClient.open(resource, { authorization: `Bearer ${token}` });
  return session.call('connect_github');
}

describe("a required provider that revoked the user's grants", () => {
  it('makes the next refresh invalid_grant, once, while the access token serves other calls', async () => {
    const clock = setWallClock();
    const github: ProviderSpec = { ...GITHUB, options: { refresh: 'rotates', expiresIn: 2 } };
    const setup = await start({ providers: [OKTA, github] });
    const [client, robot] = [await setup.client(), new Robot()];
    const tokens = await client.login({ user: 'alice' }, { robot });
    setup.providers.github?.odd?.endGrants('alice');
    clock.forward(2_100);
    const reply = await callWhoami(setup.resource, tokens.access_token, 'github');
    expect(reply.status).toBe(200);
    expect(accountAt(setup.providers.okta!, await whoIs(setup.resource, tokens.access_token, 'okta'))).toBe('alice');
    const refused = await client.refresh(tokens.refresh_token);
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 400, error: 'invalid_grant' });
    expect((await callWhoami(setup.resource, tokens.access_token, 'okta')).status).toBe(200);
    // The next login visits only that provider.
    const before = setup.providers.okta?.odd?.of('/authorize').length;
    await client.login({ user: 'alice' }, { robot });
    expect(setup.providers.okta?.odd?.of('/authorize').length).toBe(before);
  });
});

describe('stored tokens', () => {
  it('renew before their end, on use', async () => {
    const clock = setWallClock();
    const okta: ProviderSpec = { ...OKTA, options: { oidc: true, refresh: 'rotates', expiresIn: 2 } };
    const setup = await start({ providers: [okta] });
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    const first = await whoIs(setup.resource, token, 'okta');
    clock.forward(2_000);
    const second = await whoIs(setup.resource, token, 'okta');
    expect(second.tokenHash).not.toBe(first.tokenHash);
    expect(accountAt(setup.providers.okta!, second)).toBe('alice');
  });

  it('stay valid if a provider gives them without an expiry and a refresh token', async () => {
    const setup = await start({ providers: [OKTA, GITHUB] });
    const client = await setup.client();
    const tokens = await client.login({ user: 'alice' });
    const { access_token: token } = tokensOf(await client.refresh(tokens.refresh_token));
    expect(accountAt(setup.providers.github!, await whoIs(setup.resource, token, 'github'))).toBe('alice');
  });

  it('reach only their own backend, and the client’s bearer token reaches none', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const bare = closing(
      await servePlain({
        tools: 1,
        intercept: ({ headers }) => {
          seen.push(headers);
          return false;
        },
      }),
    );
    const setup = await start({
      providers: [OKTA, GITHUB],
      backends: [{ name: 'bare', transport: 'streamable-http', url: bare.url }],
    });
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    const hashes = await Promise.all(
      ['okta', 'github'].map(async (name) => (await whoIs(setup.resource, token, name)).tokenHash),
    );
    expect(new Set([...hashes, shortHash(token)]).size).toBe(3);
    const session = await SessionClient.open(setup.resource, { authorization: `Bearer ${token}` });
    await session.call('bare_tool_0', { text: 'x' });
    expect(seen.length).toBeGreaterThan(0);
    for (const headers of seen) expect(headers).not.toHaveProperty('authorization');
  });
});
