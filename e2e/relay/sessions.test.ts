import { afterEach, describe, expect, it } from '@jest/globals';
import { serveMisbehaving, reserveAbsent } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { followTools } from '../gateway/follow-tools.ts';
import { send, sendModern, SessionClient } from '../gateway/session-client.ts';
import { serveGateway, type ServedGateway, type ServeOptions } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';

const open: { close(): Promise<void> | void }[] = [];

function closing<T extends { close(): Promise<void> | void }>(one: T): T {
  open.push(one);
  return one;
}

async function gatewayTo(
  urls: Record<string, string>,
  more: Partial<GatewayConfig> = {},
  options: ServeOptions = {},
): Promise<ServedGateway> {
  const backends = Object.entries(urls).map(([name, url]) => ({ name, transport: 'streamable-http' as const, url }));
  return closing(await serveGateway({ incoming: { type: 'anonymous' }, backends, ...more }, options));
}

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

describe('a session', () => {
  it('lists the tools of all backends under prefixed names and calls each at its own', async () => {
    const [first, second] = [closing(await servePlain({ tools: 2 })), closing(await servePlain({ tools: 1 }))];
    const gateway = await gatewayTo({ a: first.url, b: second.url });
    const client = await SessionClient.open(gateway.url);

    expect(await client.toolNames()).toEqual(['a_tool_0', 'a_tool_1', 'b_tool_0']);
    expect((await client.call('b_tool_0', { text: 'x' })).answer.result).toMatchObject({ content: [{ type: 'text' }] });
    expect(second.counts.get('tools/call')).toBe(1);
    expect(first.counts.get('tools/call')).toBeUndefined();
  });

  it('sends no arguments if the client sent none', async () => {
    const bodies: string[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, _response, body) => {
          bodies.push(body);
          return false;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.call('a_tool_0');
    const sent = bodies.find((body) => body.includes('tools/call'));
    expect(JSON.parse(sent ?? '{}')).toEqual({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'tool_0' },
    });
  });

  it('keeps one backend session for all calls', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.call('a_tool_0', { text: 'x' });
    const before = backend.counts.get('initialize') ?? 0;
    for (let i = 0; i < 5; i++) await client.call('a_tool_0', { text: 'x' });
    expect(backend.counts.get('initialize')).toBe(before);
  });

  it('opens again at a backend that has forgotten it, and loses no call', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    await backend.close();
    open.splice(open.indexOf(backend), 1);
    closing(await servePlain({ tools: 1, port: backend.port }));
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
  });

  it('becomes unknown after its client has ended it', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    expect((await send(gateway.url, 'DELETE', client.headers)).status).toBe(204);
    expect((await client.request('tools/list')).status).toBe(404);
  });

  it('ends the one idle for longest if its principal has too many', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo(
      { a: backend.url },
      { limits: { sessions_per_principal: 2 } },
      { evictableAfter: 0 },
    );
    const clients = [];
    for (let i = 0; i < 3; i++) clients.push(await SessionClient.open(gateway.url));
    const statuses = [];
    for (const client of clients) statuses.push((await client.request('ping')).status);
    expect(statuses).toEqual([404, 200, 200]);
  });

  it('ends by itself when it is idle', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url }, { limits: { session_idle: '1s' } });
    const client = await SessionClient.open(gateway.url);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    gateway.runtime.gateway.services.sessions.sweep();
    expect((await client.request('ping')).status).toBe(404);
  });
});

describe('a request without a session', () => {
  it.each([
    [{}, 400],
    [{ 'mcp-session-id': 'made-up' }, 404],
  ])('with headers %j gets %d', async (headers, status) => {
    const gateway = await gatewayTo({});
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect((await send(gateway.url, 'POST', headers as Record<string, string>, body)).status).toBe(status);
  });
});

describe('one backend of several', () => {
  it('removes only its own tools when it is dead, and brings them back with list_changed', async () => {
    const good = closing(await servePlain({ tools: 1 }));
    const absent = await reserveAbsent({ tools: 1 });
    const gateway = await gatewayTo({ good: good.url, away: absent.url });
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    const knows = await followTools(stream, () => client.toolNames(), 10_000);
    await knows('good_tool_0');
    await absent.comeBack();
    await knows('good_tool_0', 'away_tool_0');
    expect((await client.call('away_tool_0', { text: 'x' })).answer.result).toBeDefined();
    stream.close();
    await absent.leave();
  });

  it('announces its changed list to every session', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    const clients = [await SessionClient.open(gateway.url), await SessionClient.open(gateway.url)];
    const streams = [];
    for (const client of clients) {
      expect(await client.toolNames()).toHaveLength(1);
      streams.push(await client.stream());
    }
    backend.setTools(3);
    for (const stream of streams)
      await stream.waitFor((message) => message.method === 'notifications/tools/list_changed');
    for (const client of clients) expect(await client.toolNames()).toHaveLength(3);
    for (const stream of streams) stream.close();
  });

  it('misses the list after the deadline if it is slow, and its tools come later', async () => {
    const good = closing(await servePlain({ tools: 1 }));
    const slow = closing(await serveMisbehaving('hang', { tools: 1, methods: ['tools/list'] }));
    const gateway = await gatewayTo({ good: good.url, slow: slow.url }, { limits: { list_deadline: '300ms' } });
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toEqual(['good_tool_0']);
  });

  it('does not delay the first call to another if it hangs', async () => {
    const good = closing(await servePlain({ tools: 1 }));
    const hanging = closing(await serveMisbehaving('hang', { tools: 1, methods: ['tools/list'] }));
    const gateway = await gatewayTo({ good: good.url, hanging: hanging.url }, { limits: { list_deadline: '1h' } });
    const client = await SessionClient.open(gateway.url);
    expect((await client.call('good_tool_0', { text: 'x' })).answer.result).toBeDefined();
    expect((await client.call('good_nothing')).answer.error?.code).toBe(-32602);
    const call = { name: 'good_tool_0', arguments: { text: 'x' } };
    expect((await sendModern(gateway.url, 'tools/call', call)).answer.result).toBeDefined();
  });
});
