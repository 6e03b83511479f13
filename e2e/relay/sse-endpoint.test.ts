import { afterEach, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { CreateMessageRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { openStream, send, type Headers, type OpenStream } from '../gateway/session-client.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const sse = { proxy_mode: 'sse' } as const;
const everything = async (more: object = {}) =>
  gatewayTo({ a: closing(await serveEverything()).url }, { ...sse, ...more });
const streamOf = (gateway: ServedGateway) => `${gateway.origin}/sse`;

async function connect(gateway: ServedGateway, capabilities: object = {}): Promise<Client> {
  const client = new Client({ name: 'old', version: '1' }, { capabilities });
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the old transport is what is served here
  await client.connect(new SSEClientTransport(new URL(streamOf(gateway))));
  return closing(client);
}

/** Opens a raw stream. Returns it with the endpoint for messages that it names. */
async function openRaw(
  gateway: ServedGateway,
  headers: Headers = {},
): Promise<{ stream: OpenStream; messages: string }> {
  const stream = closing(await openStream(streamOf(gateway), headers));
  let messages = '';
  await until('the endpoint', () => {
    const [first] = stream.events();
    messages = first === undefined ? '' : new URL(first.data, streamOf(gateway)).href;
    return messages !== '';
  });
  return { stream, messages };
}

const initialize = (id: number, protocolVersion = '2024-11-05') =>
  JSON.stringify({
    ...{ jsonrpc: '2.0', id, method: 'initialize' },
    params: { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  });
const list = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' });

describe('an endpoint with proxy_mode sse', () => {
  it("serves the SDK's client: lists, calls, progress, sampling, and changed lists", async () => {
    const gateway = await everything();
    const client = await connect(gateway, { sampling: {} });
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      ...{ model: 'm', role: 'assistant' },
      content: { type: 'text', text: 'sampled' },
    }));
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes++;
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('a_test_simple_text');
    expect(JSON.stringify(await client.callTool({ name: 'a_test_simple_text', arguments: {} }))).toContain(
      'simple text',
    );
    const steps: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress);
    await client.callTool({ name: 'a_test_tool_with_progress', arguments: {} }, undefined, { onprogress });
    expect(steps).toEqual([0, 50, 100]);
    const sampled = await client.callTool({ name: 'a_test_sampling', arguments: { prompt: 'p' } });
    expect(JSON.stringify(sampled)).toContain('sampled');
    await client.callTool({ name: 'a_test_trigger_tool_change', arguments: {} });
    await until('the change', () => changes > 0);
    // The endpoint also serves streamable HTTP.
    expect((await send(gateway.url, 'POST', {}, initialize(0))).status).toBe(200);
  });

  it("negotiates the transport's revision, and answers large and failing requests on the stream", async () => {
    const plain = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: plain.url }, sse);
    const { stream, messages } = await openRaw(gateway);
    expect(await send(messages, 'POST', {}, initialize(1))).toMatchObject({ status: 202, text: 'Accepted' });
    const opened = await stream.waitFor(({ id }) => id === 1);
    expect(opened.result).toMatchObject({ protocolVersion: '2024-11-05' });
    await send(messages, 'POST', {}, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
    const call = (id: number, name: string, count: number) =>
      JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { text: 'x', count } } });
    // Sends several requests at a time. No answer may interrupt another.
    const ids = [2, 3, 4];
    await Promise.all(ids.map((id) => send(messages, 'POST', {}, call(id, 'a_tool_0', 1_048_576))));
    for (const id of ids) {
      const { result } = await stream.waitFor((message) => message.id === id);
      expect(JSON.stringify(result).length).toBeGreaterThan(1_048_576);
    }
    await send(messages, 'POST', {}, call(5, 'a_nothing', 1));
    expect((await stream.waitFor(({ id }) => id === 5)).error).toMatchObject({ code: -32602 });
    expect((await send(messages, 'POST', {}, initialize(6))).status).toBe(400);
    expect((await send(messages, 'POST', {}, '{')).status).toBe(400);
    expect((await send(messages, 'GET', {})).status).toBe(405);
    expect((await send(streamOf(gateway), 'POST', {}, list(7))).status).toBe(405);
  });

  it('answers a message before initialize on the stream: it has no session', async () => {
    const gateway = await gatewayTo({ a: closing(await servePlain({ tools: 1 })).url }, sse);
    const { stream, messages } = await openRaw(gateway);
    // Not even with the id of an existing session.
    const foreign = await send(gateway.url, 'POST', {}, initialize(0));
    const named = { 'mcp-session-id': String(foreign.headers['mcp-session-id']) };
    expect((await send(messages, 'POST', named, list(1))).status).toBe(202);
    expect((await stream.waitFor(({ id }) => id === 1)).error).toBeDefined();
  });

  it('ends the session and its backend sessions with its stream', async () => {
    const plain = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: plain.url }, sse);
    const client = await connect(gateway);
    await client.listTools();
    expect(gateway.runtime.gateway.services.sessions.size).toBe(1);
    await client.close();
    await until('the end', () => gateway.runtime.gateway.services.sessions.size === 0);
    await until('the others', () => gateway.runtime.gateway.services.running.size === 0);
  });

  it('cancels a call when its stream ends', async () => {
    const slow = closing(await serveMisbehaving('slow', { tools: 1, delayMs: 60_000 }));
    const gateway = await gatewayTo({ a: slow.url }, sse);
    const client = await connect(gateway);
    await client.listTools();
    const call = client.callTool({ name: 'a_tool_0', arguments: { text: 'x' } }).catch(() => 'given up');
    await until('the call', () => gateway.runtime.gateway.services.running.size === 2);
    await client.close();
    expect(await call).toBe('given up');
    await until('its end', () => gateway.runtime.gateway.services.running.size === 0);
  });

  it('lets calls finish at the end, and then ends the stream', async () => {
    const slow = closing(await serveMisbehaving('slow', { tools: 1, delayMs: 300 }));
    const gateway = await gatewayTo({ a: slow.url }, sse, { drain: 4_000 });
    const client = await connect(gateway);
    await client.listTools();
    const call = client.callTool({ name: 'a_tool_0', arguments: { text: 'x' } });
    await until('the call', () => gateway.runtime.gateway.services.running.size === 2);
    const stopped = gateway.runtime.stop();
    expect(JSON.stringify(await call)).toContain('from a misbehaving backend');
    await stopped;
    expect(gateway.log()).not.toContain('cut off');
  });

  it('appears and disappears with the configuration', async () => {
    const { url } = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: url });
    expect((await send(streamOf(gateway), 'GET', {})).status).toBe(404);
    await gateway.reconfigure(configTo({ a: url }, { ...sse, endpoint_prefix: '/team' }));
    const { stream } = await openRaw(gateway);
    const below = closing(await openStream(`${gateway.origin}/team/sse`, {}));
    await until('its endpoint', () => below.events().length > 0);
    await gateway.reconfigure(configTo({ a: url }));
    await until('the end', () => !stream.isOpen() && !below.isOpen());
    expect((await send(streamOf(gateway), 'GET', {})).status).toBe(404);
  });
});

describe('boundary 1 of an endpoint with proxy_mode sse', () => {
  const LIMITS = { limits: { sessions_per_principal: 2 } };
  const start = async () => {
    const at = await protectedGateway({ config: { ...sse, ...LIMITS } });
    return { ...at, alice: await at.bearer(), mallory: await at.bearer({ sub: 'mallory' }) };
  };

  it('asks for a token at the stream and at each message', async () => {
    const { gateway, alice } = await start();
    const refused = await send(streamOf(gateway), 'GET', {});
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toContain('resource_metadata');
    const { messages } = await openRaw(gateway, alice);
    expect((await send(messages, 'POST', {}, initialize(1))).status).toBe(401);
    expect((await send(messages, 'POST', alice, initialize(1))).status).toBe(202);
  });

  it("answers 404 for another caller's stream, and for an unknown one", async () => {
    const { gateway, alice, mallory } = await start();
    const { stream, messages } = await openRaw(gateway, alice);
    const stolen = await send(messages, 'POST', mallory, initialize(1));
    const made = await send(`${gateway.origin}/messages?sessionId=x`, 'POST', mallory, initialize(1));
    expect([stolen.status, stolen.text]).toEqual([404, made.text]);
    await send(messages, 'POST', alice, initialize(1));
    expect((await stream.waitFor(({ id }) => id === 1)).result).toBeDefined();
  });

  it('refuses foreign hosts, foreign pages, other content types and too many streams', async () => {
    const { gateway, alice } = await start();
    const { messages } = await openRaw(gateway, alice);
    for (const wrong of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
      expect((await send(streamOf(gateway), 'GET', { ...alice, ...wrong })).status).toBe(403);
      expect((await send(messages, 'POST', { ...alice, ...wrong }, initialize(1))).status).toBe(403);
    }
    expect((await send(messages, 'POST', { ...alice, 'content-type': 'text/plain' }, initialize(1))).status).toBe(415);
    await openRaw(gateway, alice);
    expect((await send(streamOf(gateway), 'GET', alice)).status).toBe(429);
  });

  it('handles a bounded number of messages of one stream, and more once those are answered', async () => {
    const held = new Set<() => void>();
    const answerAll = () => {
      for (const answer of held) answer();
      held.clear();
    };
    const backend = await servePlain({
      tools: 1,
      intercept: (_request, response, body) => {
        if (!body.includes('tools/call')) return false;
        held.add(() => void response.writeHead(500).end());
        return true;
      },
    });
    closing(backend);
    const operational = { concurrency: { per_backend: 1_000, queue: 1_000 } };
    const gateway = await gatewayTo({ a: backend.url }, { ...sse, operational });
    const { stream, messages } = await openRaw(gateway);
    await send(messages, 'POST', {}, initialize(0));
    await stream.waitFor(({ id }) => id === 0);
    const call = (id: number) =>
      JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'a_tool_0', arguments: {} } });
    const ids = Array.from({ length: 300 }, (_, at) => at + 1);
    const answers = await Promise.all(ids.map((id) => send(messages, 'POST', {}, call(id))));
    const taken = ids.filter((_, at) => answers[at]?.status === 202);
    expect([taken.length, answers.filter(({ status }) => status === 429).length]).toEqual([256, 300 - 256]);
    await until('what was taken', () => held.size === 256);
    answerAll();
    await stream.waitFor(({ id }) => id === taken.at(-1));
    await until('an accepted message', async () => (await send(messages, 'POST', {}, call(400))).status === 202);
    answerAll();
  });

  it('ends the stream with the token that opened it', async () => {
    const started = await start();
    const exp = Math.floor(Date.now() / 1000) + 2;
    const { stream } = await openRaw(started.gateway, await started.bearer({ exp }));
    await until('its end', () => !stream.isOpen());
  });
});
