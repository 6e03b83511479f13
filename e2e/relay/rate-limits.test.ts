import { afterEach, describe, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { serveLogging } from '../fakes/backend/serve-logging.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import type { Intercept } from '../fakes/mcp/serve.ts';
import { openStream, send, sendModern, SessionClient, modernRequest, type Reply } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { eventually } from '../local/run-vmcp.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

type RateLimits = NonNullable<RunConfigDocument['rate_limiting']>;
type Rule = NonNullable<RateLimits['rules']>[number];

const ARGS = { text: 'x' };
/** So long that no token refills during a test. */
const HOUR = '1h';
const globally: Rule = { requests: 2, per: HOUR, scope: 'global' };
const eachUser: Rule = { requests: 2, per: HOUR, scope: 'user' };

/** Starts a gateway with these limits in front of one backend with two tools. `calls`: number of calls that reached it. */
async function arrange(rate_limiting: RateLimits, more: Partial<RunConfigDocument> = {}) {
  const backend = closing(await servePlain({ tools: 2 }));
  const config = { rate_limiting, audit_config: { enabled: true }, ...more };
  const gateway = await gatewayTo({ a: backend.url }, config);
  return { backend, gateway, config, calls: () => backend.counts.get('tools/call') ?? 0 };
}

const told = ({ status, answer }: Reply) => (status === 200 && answer.result ? 'passed' : answer.error?.code);

async function times(count: number, call: () => Promise<Reply>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let one = 0; one < count; one++) seen.push(told(await call()));
  return seen;
}

describe('a call beyond its rate limit', () => {
  it('gets 429, Retry-After and a JSON-RPC error, and does not reach the backend', async () => {
    const { gateway, calls } = await arrange({ rules: [globally] });
    const client = await SessionClient.open(gateway.url);
    expect(await times(2, () => client.call('a_tool_0', ARGS))).toEqual(['passed', 'passed']);
    const { status, headers, answer } = await client.call('a_tool_0', ARGS);
    expect([status, calls()]).toEqual([429, 2]);
    const seconds = Number(headers['retry-after']);
    expect(seconds).toBeGreaterThan(1700);
    expect(seconds).toBeLessThanOrEqual(1800);
    expect(answer).toMatchObject({
      id: 3,
      error: {
        code: 429,
        message: `Too many requests: try again in ${seconds} s`,
        data: { retryAfter: seconds, scope: 'global' },
      },
    });
  });

  it('gets the same answer in revision 2026-07-28', async () => {
    const { gateway, calls } = await arrange({ rules: [globally] });
    const call = () => sendModern(gateway.url, 'tools/call', { name: 'a_tool_0', arguments: ARGS });
    expect(await times(3, call)).toEqual(['passed', 'passed', 429]);
    const { status, headers, answer } = await call();
    expect([status, headers['retry-after'], calls()]).toEqual([429, String(answer.error?.data?.retryAfter), 2]);
  });

  it('gets the error on the stream of a client of the HTTP+SSE transport', async () => {
    const { gateway } = await arrange({ rules: [{ ...globally, requests: 1 }] }, { proxy_mode: 'sse' });
    const stream = closing(await openStream(`${gateway.origin}/sse`, {}));
    await eventually(
      () => String(stream.events().length),
      (count) => count === '1',
    );
    const at = `${gateway.origin}/${stream.events()[0]?.data}`;
    const say = (message: object) => send(at, 'POST', {}, JSON.stringify({ jsonrpc: '2.0', ...message }));
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo };
    await say({ id: 0, method: 'initialize', params });
    await stream.waitFor(({ id }) => id === 0);
    await say({ method: 'notifications/initialized' });
    const call = async (id: number) => {
      await say({ id, method: 'tools/call', params: { name: 'a_tool_0', arguments: ARGS } });
      return stream.waitFor((message) => message.id === id);
    };
    expect(await call(1)).toMatchObject({ result: { content: [{ type: 'text' }] } });
    const { error } = await call(2);
    expect(error).toMatchObject({ code: 429, data: { scope: 'global', retryAfter: expect.any(Number) } });
  });

  it('appears in audit and metrics under its kind of limit', async () => {
    const { gateway } = await arrange({ rules: [{ ...globally, requests: 1 }] });
    const client = await SessionClient.open(gateway.url);
    await times(3, () => client.call('a_tool_0', ARGS));
    const isAudited = (log: string) =>
      /"type":"mcp_tool_call".*"outcome":"denied".*"name":"a_tool_0".*"code":"rate_limited".*"limit":"global"/.test(
        log,
      );
    await eventually(() => gateway.log(), isAudited);
    const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/metrics`, 'GET', {});
    expect(text).toContain('vmcp_rate_limited_total{scope="global",outcome="refused"} 2');
  });
});

describe('a limit for each user', () => {
  const arranged = (rate_limiting: RateLimits, more: Partial<RunConfigDocument> = {}) =>
    protectedGateway({ config: { rate_limiting, ...more } });

  it('counts one user over all sessions, tokens, names and client names, and no other user', async () => {
    const { gateway, bearer } = await arranged({ rules: [eachUser] });
    const clients = [
      await SessionClient.open(gateway.url, await bearer({ jti: '1', client_id: 'one', name: 'Ann' })),
      await SessionClient.open(
        gateway.url,
        await bearer({ jti: '2', client_id: 'two', name: 'Bea' }),
        {},
        '2025-06-18',
      ),
    ];
    const seen = [];
    for (const client of [...clients, ...clients]) seen.push(told(await client.call('a_tool_1', ARGS)));
    expect(seen).toEqual(['passed', 'passed', 429, 429]);
    const fresh = await SessionClient.open(gateway.url, await bearer({ jti: '3' }));
    expect(told(await fresh.call('a_tool_0', ARGS))).toBe(429);
    const call = (headers: Record<string, string>) =>
      sendModern(gateway.url, 'tools/call', { name: 'a_tool_0', arguments: ARGS }, headers);
    expect(told(await call(await bearer()))).toBe(429);
    expect(told(await call(await bearer({ sub: 'bob' })))).toBe('passed');
  });

  it('counts denied calls, at no cost for other users', async () => {
    const policies = ['permit(principal, action, resource) unless { context has arg_mode };'];
    const { gateway, bearer, backend } = await arranged(
      { rules: [eachUser, { requests: 2, per: HOUR, scope: 'global' }] },
      { authz: { policies } },
    );
    const [ann, bob] = [
      await SessionClient.open(gateway.url, await bearer()),
      await SessionClient.open(gateway.url, await bearer({ sub: 'bob' })),
    ];
    const guess = () => ann.call('a_tool_0', { ...ARGS, mode: 'delete' });
    expect(told(await ann.call('a_unknown', ARGS))).toBe(-32602);
    expect(await times(4, guess)).toEqual([403, 403, 429, 429]);
    expect(told(await ann.call('a_tool_0', ARGS))).toBe(429);
    expect(await times(3, () => bob.call('a_tool_0', ARGS))).toEqual(['passed', 'passed', 429]);
    expect(backend.counts.get('tools/call')).toBe(2);
  });

  it('does not count subscriptions, whatever URIs they name, and however often policies change', async () => {
    const { gateway, backend, config } = await arrange({ rules: [eachUser] });
    const resourceSubscriptions = Array.from({ length: 50 }, (_, at) => `gone://${at}`);
    const { body, headers } = modernRequest('subscriptions/listen', {
      notifications: { toolsListChanged: true, resourceSubscriptions },
    });
    const stream = closing(await openStream(gateway.url, headers, body));
    await stream.waitFor(({ method }) => method === 'notifications/subscriptions/acknowledged');
    await gateway.reconfigure(
      configTo({ a: backend.url }, { ...config, authz: { policies: ['permit(principal, action, resource);'] } }),
    );
    await stream.waitFor(({ method }) => method === 'notifications/tools/list_changed');
    const call = () => sendModern(gateway.url, 'tools/call', { name: 'a_tool_0', arguments: ARGS });
    expect(await times(3, call)).toEqual(['passed', 'passed', 429]);
  });

  it('lets users beyond it list, ping, connect and disconnect', async () => {
    const { gateway, bearer } = await arranged({ per_user: { max_tokens: 1, refill_period: HOUR } });
    const client = await SessionClient.open(gateway.url, await bearer());
    await times(2, () => client.call('a_tool_0', ARGS));
    expect(await client.toolNames()).toHaveLength(2);
    expect((await client.request('ping')).status).toBe(200);
    expect((await SessionClient.open(gateway.url, await bearer())).initialized.result).toBeDefined();
    expect((await send(gateway.url, 'DELETE', client.headers)).status).toBe(204);
  });
});

describe('a rate limit', () => {
  it('counts calls of a tool by its advertised name, and for each user there if configured', async () => {
    const { gateway } = await arrange({
      rules: [{ requests: 2, per: HOUR, scope: 'tool', tool: 'a_tool_0' }],
      tools: [{ name: 'a_tool_1', per_user: { max_tokens: 1, refill_period: HOUR } }],
    });
    const client = await SessionClient.open(gateway.url);
    expect(await times(3, () => client.call('a_tool_0', ARGS))).toEqual(['passed', 'passed', 429]);
    expect(await times(2, () => client.call('a_tool_1', ARGS))).toEqual(['passed', 429]);
    const { answer } = await client.call('a_tool_0', ARGS);
    expect(answer.error?.data).toMatchObject({ scope: 'tool' });
  });

  it('counts all requests that reach a backend, and no others', async () => {
    const backend = closing(await serveEverything());
    const requests = 7;
    const gateway = await gatewayTo({ a: backend.url }, { rate_limiting: { rules: [{ ...globally, requests }] } });
    const client = await SessionClient.open(gateway.url);
    const uri = 'test://static-text';
    const ref = { type: 'ref/prompt', name: 'a_test_prompt_with_arguments' };
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'ping']) await client.request(method);
    const asked: [string, object][] = [
      ['tools/call', { name: 'a_test_simple_text' }],
      ['prompts/get', { name: 'a_test_simple_prompt' }],
      ['resources/read', { uri }],
      ['resources/subscribe', { uri }],
      ['resources/unsubscribe', { uri }],
      ['completion/complete', { ref, argument: { name: 'arg1', value: '' } }],
      ['logging/setLevel', { level: 'error' }],
    ];
    for (const again of [false, true])
      for (const [method, params] of asked)
        expect({ again, method, seen: told(await client.request(method, params)) }).toEqual({
          ...{ again, method },
          seen: again ? 429 : 'passed',
        });
    for (const [method, params] of [asked[0]!, asked[1]!, asked[2]!, asked[5]!])
      expect(told(await sendModern(gateway.url, method, { ...params }))).toBe(429);
  });

  it('counts logging/setLevel at a backend, too, which applies nowhere if one of them refuses', async () => {
    const levels: string[] = [];
    const [a, b] = [closing(await serveLogging('a', levels)), closing(await serveLogging('b', levels))];
    const limit = (max_tokens: number): RateLimits => ({ shared: { max_tokens, refill_period: HOUR } });
    const gateway = await gatewayTo({
      a: { url: a.url, rate_limiting: limit(9) },
      b: { url: b.url, rate_limiting: limit(1) },
    });
    const client = await SessionClient.open(gateway.url);
    (await client.stream()).close();
    const [session] = gateway.runtime.gateway.services.sessions.all();
    await until('a session at each', () => session?.backendSessions.length === 2);
    const set = (level: string) => client.request('logging/setLevel', { level });
    expect([told(await set('error')), told(await set('debug'))]).toEqual(['passed', 429]);
    // A backend session that opens meanwhile gets the level a second time.
    expect([...new Set(levels)].sort()).toEqual(['a error', 'b error']);
  });

  it('appears in /status if its tool is missing, once the lists are known', async () => {
    const { gateway } = await arrange({
      rules: [
        { ...globally, scope: 'tool', tool: 'a_tool_9' },
        { ...globally, tool: 'a_tool_1' },
      ],
    });
    const status = () => send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
    const warned = 'rateLimiting limits the tool \\"a_tool_9\\", which is not there: correct or remove it';
    await eventually(
      async () => (await status()).text,
      (text) => text.includes(warned),
    );
    expect((await status()).text).not.toContain('a_tool_1');
  });

  it("applies to a backend at every endpoint, by the backend's own names", async () => {
    const backend = closing(await servePlain({ tools: 2 }));
    const rate_limiting: RateLimits = {
      rules: [{ requests: 1, per: HOUR, scope: 'tool', tool: 'mine' }],
      shared: { max_tokens: 2, refill_period: HOUR },
    };
    const tools_override = { tool_0: { name: 'mine' } };
    const gateway = await gatewayTo({ a: { url: backend.url, rate_limiting, tools_override }, b: backend.url });
    const client = await SessionClient.open(gateway.url);
    expect(await times(2, () => client.call('a_mine', ARGS))).toEqual(['passed', 429]);
    expect(await times(2, () => client.call('a_tool_1', ARGS))).toEqual(['passed', 429]);
    expect(await times(3, () => client.call('b_tool_0', ARGS))).toEqual(['passed', 'passed', 'passed']);
  });

  it("keeps the backend's limit for the current tool name if a former name has one, too", async () => {
    const backend = closing(await servePlain({ tools: 2 }));
    const ofTool = (tool: string, requests: number): Rule => ({ requests, per: HOUR, scope: 'tool', tool });
    const rate_limiting: RateLimits = { rules: [ofTool('mine', 1), ofTool('tool_0', 9)] };
    const tools_override = { tool_0: { name: 'mine' } };
    const gateway = await gatewayTo({ a: { url: backend.url, rate_limiting, tools_override } });
    const client = await SessionClient.open(gateway.url);
    expect(await times(2, () => client.call('a_mine', ARGS))).toEqual(['passed', 429]);
  });

  it('applies a change at once, keeps its counts, and ends no session', async () => {
    const backendSessions = new Set<unknown>();
    const intercept: Intercept = (request, _response, body) => {
      if (body.includes('"tools/call"')) backendSessions.add(request.headers['mcp-session-id']);
      return false;
    };
    const backend = closing(await servePlain({ tools: 2, intercept }));
    const config = (requests: number, ofBackend: number) =>
      configTo(
        { a: { url: backend.url, rate_limiting: { shared: { max_tokens: ofBackend, refill_period: HOUR } } } },
        { rate_limiting: { rules: [{ ...globally, requests }] } },
      );
    const gateway = await gatewayTo(
      { a: { url: backend.url, rate_limiting: { shared: { max_tokens: 9, refill_period: HOUR } } } },
      { rate_limiting: { rules: [globally] } },
    );
    const client = await SessionClient.open(gateway.url);
    expect(await times(3, () => client.call('a_tool_0', ARGS))).toEqual(['passed', 'passed', 429]);
    await gateway.reconfigure(config(3, 9));
    expect(await times(2, () => client.call('a_tool_0', ARGS))).toEqual(['passed', 429]);
    await gateway.reconfigure(config(9, 4));
    expect(await times(2, () => client.call('a_tool_0', ARGS))).toEqual(['passed', 429]);
    await gateway.reconfigure(configTo({ a: backend.url }));
    expect(await times(9, () => client.call('a_tool_0', ARGS))).toEqual(Array(9).fill('passed'));
    expect([...backendSessions]).toEqual([expect.any(String)]);
  });
});
