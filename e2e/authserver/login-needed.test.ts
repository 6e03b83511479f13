import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { sendModern, SessionClient, type Rpc } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange, type ArrangementOptions } from './arrangement.ts';
import { callWhoami, toolNames, whoIs } from './call-tool.ts';
import type { OAuthClient } from './oauth-client.ts';
import { accountAt, type ProviderSpec } from './providers.ts';
import { setWallClock } from './wall-clock.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
const GITHUB: ProviderSpec = { name: 'github', kind: 'odd', required: false };

const LINK = /^http:\/\/127\.0\.0\.1:\d+\/connections\/link\?ticket=[\w-]{43}$/;
const OPENS_URLS = { elicitation: { url: {} } };

afterEach(async () => {
  await closeAll();
  jest.restoreAllMocks();
});

/** Logs alice in, without the optional provider. */
async function start(options: ArrangementOptions = {}) {
  const setup = closing(await arrange({ providers: [OKTA, GITHUB], ...options }));
  const client = await setup.client();
  const checks = Object.fromEntries(Object.keys(setup.providers).map((name) => [`link=${name}`, name === 'okta']));
  const { access_token: token } = await client.login({ user: 'alice', checks });
  return { setup, client, token, bearer: { authorization: `Bearer ${token}` } };
}

/** Starts a backend that refuses requests without a token, so that the gateway knows nothing of it. */
async function serveLocked(tools = 1) {
  const seen: (string | undefined)[] = [];
  const streams: string[] = [];
  const { url } = closing(
    await servePlain({
      tools,
      intercept: ({ method, headers: { authorization } }, response) => {
        seen.push(authorization);
        if (method === 'GET') streams.push(authorization ?? '');
        if (authorization !== undefined) return false;
        response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
        return true;
      },
    }),
  );
  const backendFor = (provider: string, name = 'locked') =>
    ({ name, transport: 'streamable-http', url, auth: { type: 'upstream_inject', provider_name: provider } }) as const;
  return { seen, streams, backendFor };
}

/** Logs in at both providers, in another browser. */
const linkAll = (client: OAuthClient) => client.login({ user: 'alice' });

const textOf = ({ result }: Rpc) => (result?.content as { text: string }[] | undefined)?.[0]?.text ?? '';
const linkIn = (text: string) => /http\S+/.exec(text)?.[0] ?? '';

describe('a call that needs a login, of a client with sessions', () => {
  it('gets -32042 if the client opens URLs, and a notification when the login is done', async () => {
    const { setup, client, bearer } = await start();
    const session = await SessionClient.open(setup.resource, bearer, OPENS_URLS);
    const stream = await session.stream();
    const { status, answer } = await session.call('github_whoami');
    expect(status).toBe(200);
    const [elicitation] = answer.error?.data?.elicitations as Record<string, string>[];
    expect(answer.error?.code).toBe(-32042);
    expect(elicitation).toEqual({
      mode: 'url',
      elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      url: expect.stringMatching(LINK),
      message: expect.stringContaining('github'),
    });
    await linkAll(client);
    const done = await stream.waitFor(({ method }) => method === 'notifications/elicitation/complete');
    expect(done.params).toEqual({ elicitationId: elicitation?.elicitationId });
    stream.close();
    const { answer: after } = await session.call('github_whoami');
    expect(after.result).toMatchObject({ structuredContent: expect.anything() });
  });

  it.each([
    ['declared nothing', {}, '2025-11-25'],
    ['declared forms only', { elicitation: {} }, '2025-11-25'],
    ['speaks a revision without URL mode', OPENS_URLS, '2025-06-18'],
  ])('gets an error result with the link at HTTP 200 if the client %s', async (_case, capabilities, revision) => {
    const { setup, bearer } = await start();
    const session = await SessionClient.open(setup.resource, bearer, capabilities, revision);
    const { status, answer } = await session.call('github_whoami');
    expect(status).toBe(200);
    expect(answer.result?.isError).toBe(true);
    expect(linkIn(textOf(answer))).toMatch(LINK);
  });

  it('gets a JSON-RPC error with the link if it calls no tool', async () => {
    const { setup, bearer } = await start({ backends: [(await serveLocked()).backendFor('github')] });
    const session = await SessionClient.open(setup.resource, bearer);
    const { status, answer } = await session.request('prompts/get', { name: 'locked_review' });
    expect(status).toBe(200);
    expect(answer.error).toMatchObject({ code: -32603, data: { provider: 'github' } });
    expect(linkIn(answer.error?.message ?? '')).toMatch(LINK);
  });

  it('leads to the login, too, if the old login ended and the client still has the old tools', async () => {
    const github: ProviderSpec = { ...GITHUB, required: true, options: { refresh: 'rotates', expiresIn: 2 } };
    const backends = [(await serveLocked()).backendFor('github')];
    const config = { aggregation: { conflict_resolution: 'priority' } } as const;
    const clock = setWallClock();
    const setup = closing(await arrange({ providers: [OKTA, github], backends, config }));
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    const session = await SessionClient.open(setup.resource, { authorization: `Bearer ${token}` });
    expect((await session.toolNames()).sort()).toEqual(['tool_0', 'whoami']);
    setup.providers.github?.odd?.revoke('alice');
    clock.forward(2_000);
    expect(linkIn(textOf((await session.call('tool_0')).answer))).toMatch(LINK);
    expect((await session.toolNames()).sort()).toEqual(['connect_github', 'whoami']);
    expect(linkIn(textOf((await session.call('tool_0')).answer))).toMatch(LINK);
    expect((await session.call('tool_1')).answer.error).toMatchObject({ code: -32602 });
    expect((await session.call('whoami')).answer.result).toMatchObject({ structuredContent: expect.anything() });
  });

  it('includes the backend’s own stream, which connects again when the login is done', async () => {
    const github: ProviderSpec = { ...GITHUB, required: true, options: { refresh: 'rotates', expiresIn: 2 } };
    const { streams, backendFor } = await serveLocked();
    const clock = setWallClock();
    const setup = closing(await arrange({ providers: [OKTA, github], backends: [backendFor('github')] }));
    const client = await setup.client();
    const { access_token: token } = await client.login({ user: 'alice' });
    const session = await SessionClient.open(setup.resource, { authorization: `Bearer ${token}` });
    await session.toolNames();
    setup.providers.github?.odd?.endGrants('alice');
    clock.forward(2_000);
    const stream = await session.stream();
    await stream.waitFor(({ method }) => method === 'notifications/tools/list_changed');
    expect(streams).toEqual([]);
    await linkAll(client);
    await until('a stream', () => streams.length > 0);
    expect(streams).toHaveLength(1);
    stream.close();
  });

  it('opens no session at the backend; initialize never fails, also with partial_failure_mode fail', async () => {
    const failure_handling = { partial_failure_mode: 'fail' } as const;
    const backends = [(await serveLocked()).backendFor('github')];
    const { setup, bearer } = await start({ backends, config: { operational: { failure_handling } } });
    const session = await SessionClient.open(setup.resource, bearer);
    expect(session.initialized.result?.capabilities).toMatchObject({ prompts: {}, resources: {} });
    expect((await session.toolNames()).sort()).toEqual(['connect_github', 'okta_whoami']);
    const { answer } = await session.request('prompts/list');
    expect(answer.result).toEqual({ prompts: [] });
  });
});

describe('a call that needs a login, of a client of revision 2026-07-28', () => {
  const call = (resource: string, bearer: Record<string, string>, params: Record<string, unknown> = {}) => {
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': OPENS_URLS };
    return sendModern(resource, 'tools/call', { name: 'github_whoami', arguments: {}, _meta, ...params }, bearer);
  };

  it('asks for input if the client opens URLs, and returns the former request state of the backend', async () => {
    const { setup, bearer } = await start();
    const { status, answer } = await call(setup.resource, bearer, { requestState: 'of-the-backend' });
    expect(status).toBe(200);
    expect(answer.result).toEqual({
      resultType: 'input_required',
      requestState: 'of-the-backend',
      inputRequests: {
        vmcp_connect_github: {
          method: 'elicitation/create',
          params: {
            mode: 'url',
            url: expect.stringMatching(LINK),
            message: expect.stringContaining('github'),
          },
        },
      },
    });
  });

  it('continues as soon as the login is done if the client waits for it', async () => {
    const { setup, client, token, bearer } = await start();
    const inputResponses = { vmcp_connect_github: { action: 'accept' } };
    const waiting = call(setup.resource, bearer, { inputResponses });
    await linkAll(client);
    const { answer } = await waiting;
    expect(answer.result).toMatchObject({ resultType: 'complete', structuredContent: expect.anything() });
    expect(accountAt(setup.providers.github!, await whoIs(setup.resource, token, 'github'))).toBe('alice');
  });

  it('gets an error result when the user declines, and asks no more', async () => {
    const { setup, bearer } = await start();
    const { answer } = await call(setup.resource, bearer, {
      inputResponses: { vmcp_connect_github: { action: 'decline' } },
    });
    expect(answer.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(textOf(answer)).toContain('declined');
    expect(textOf(answer)).not.toContain('ticket=');
  });

  it('gets an error result with the link for any other client', async () => {
    const { setup, token } = await start();
    const { answer } = await callWhoami(setup.resource, token, 'github');
    expect(answer.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(linkIn(textOf(answer))).toMatch(LINK);
  });
});

describe('the tool that leads to a login', () => {
  it('gives the link to clients that only show text, and says when no login is needed', async () => {
    const { setup, client, bearer } = await start();
    const session = await SessionClient.open(setup.resource, bearer);
    const { answer } = await session.call('connect_github');
    expect(answer.result?.isError).toBe(false);
    expect(linkIn(textOf(answer))).toMatch(LINK);
    await linkAll(client);
    expect(textOf((await session.call('connect_github')).answer)).toContain('is logged in at github');
    expect((await session.toolNames()).sort()).toEqual(['github_whoami', 'okta_whoami']);
  });

  it('appears once for all backends of its provider, and not for users with that login', async () => {
    const backends = [(await serveLocked()).backendFor('github', 'issues')];
    const { setup, client, token } = await start({ backends });
    expect(await toolNames(setup.resource, token)).toEqual(['connect_github', 'okta_whoami']);
    const { access_token: bob } = await client.login({ user: 'bob' });
    expect(await toolNames(setup.resource, bob)).toEqual(['github_whoami', 'issues_tool_0', 'okta_whoami']);
    expect(await toolNames(setup.resource, token)).toEqual(['connect_github', 'okta_whoami']);
  });

  it.each([
    ['permit some tools by name', ['permit(principal, action, resource == Tool::"okta_whoami");'], true],
    [
      'forbid the tool',
      ['permit(principal, action, resource);', 'forbid(principal, action, resource == Tool::"connect_github");'],
      false,
    ],
    [
      'forbid all of its backends',
      ['permit(principal, action, resource);', 'forbid(principal, action, resource in Backend::"github");'],
      false,
    ],
    ['let nobody do anything', [], false],
  ])('obeys policies that %s', async (_case, policies, isShown) => {
    const { setup, token, bearer } = await start({ config: { authz: { policies } } });
    expect((await toolNames(setup.resource, token)).includes('connect_github')).toBe(isShown);
    const session = await SessionClient.open(setup.resource, bearer);
    const { answer } = await session.call('connect_github');
    if (isShown) expect(linkIn(textOf(answer))).toMatch(LINK);
    else expect(answer.error).toEqual((await session.call('no_such_tool')).answer.error);
  });

  it('has a name that no backend can take, and reports a collision', async () => {
    const rival = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('"tools/list"')) return false;
          const { id } = JSON.parse(body) as { id: number };
          const tools = [{ name: 'github', inputSchema: { type: 'object' } }];
          const result = { resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' };
          response.setHeader('content-type', 'application/json');
          response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
          return true;
        },
      }),
    );
    const backends = [{ name: 'connect', transport: 'streamable-http' as const, url: rival.url }];
    const { setup, client, bearer } = await start({ backends });
    const session = await SessionClient.open(setup.resource, bearer);
    expect((await session.toolNames()).sort()).toEqual(['connect_github', 'okta_whoami']);
    expect(linkIn(textOf((await session.call('connect_github')).answer))).toMatch(LINK);
    const { access_token: all } = await linkAll(client);
    expect(await toolNames(setup.resource, all)).toEqual(['github_whoami', 'okta_whoami']);
    expect(await statusOf(setup.gateway.runtime.address.privatePort)).toMatch(/connect_github: github of connect/);
  });

  it('has a name within the limit of names', async () => {
    const name = `github-${'x'.repeat(50)}`;
    const { setup, token } = await start({ providers: [OKTA, { ...GITHUB, name }] });
    const [tool = ''] = await toolNames(setup.resource, token);
    expect(tool).toMatch(/^connect_github-x+_[0-9a-f]{8}$/);
    expect(tool).toHaveLength(60);
  });
});

async function statusOf(privatePort: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${privatePort}/status`)).text();
}

describe('a probe of a backend with users’ own credentials', () => {
  it('sends no credential, takes a 401 as a healthy answer, and counts tools after a user has listed them', async () => {
    const { seen, backendFor } = await serveLocked(3);
    const backends = [backendFor('okta')];
    const setup = closing(await arrange({ providers: [OKTA], backends }));
    const backend = () => setup.gateway.runtime.gateway.services.backends.get('locked')!.health;
    expect(backend()).toMatchObject({ phase: 'ready', tools: null });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.every((one) => one === undefined)).toBe(true);
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    expect(await toolNames(setup.resource, token)).toContain('locked_tool_2');
    expect(backend()).toMatchObject({ phase: 'ready', tools: 3 });
  });

  it('notices an unavailable backend', async () => {
    const gone = await servePlain({ tools: 1 });
    await gone.close();
    const auth = { type: 'upstream_inject', provider_name: 'okta' } as const;
    const backends = [{ name: 'gone', transport: 'streamable-http' as const, url: gone.url, auth }];
    const setup = closing(await arrange({ providers: [OKTA], backends }));
    expect(setup.gateway.runtime.gateway.services.backends.get('gone')?.health.phase).toBe('unavailable');
  });
});
