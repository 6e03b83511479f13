import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { encodeEventId } from '#runtime/mcp/sse/event-id';
import { openStream, send, sendModern, SessionClient, modernRequest } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { protectedGateway } from './protected-gateway.ts';

afterEach(closeAll);

describe('a session of another caller', () => {
  it('answers 404 to any method, without any effect for its owner', async () => {
    const at = await protectedGateway();
    const owner = await SessionClient.open(at.gateway.url, await at.bearer());
    const stream = await owner.stream();
    const stolen = { ...owner.headers, ...(await at.bearer({ sub: 'mallory' })) };
    const made = { ...stolen, 'mcp-session-id': 'made-up' };
    for (const [method, body] of [
      ['POST', owner.message('tools/list')],
      ['POST', owner.message('tools/call', { name: 'a_tool_0', arguments: { text: 'x' } })],
      ['POST', JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })],
      ['GET', undefined],
      ['DELETE', undefined],
    ] as const) {
      const accept = { accept: 'application/json, text/event-stream' };
      const [one, other] = [
        await send(at.gateway.url, method, { ...stolen, ...accept }, body),
        await send(at.gateway.url, method, { ...made, ...accept }, body),
      ];
      expect(one.status).toBe(404);
      expect(one.text.replace(/"request_id":"[^"]*"/, '')).toBe(other.text.replace(/"request_id":"[^"]*"/, ''));
    }
    expect((await owner.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
    at.backend.setTools(1);
    await stream.waitFor(({ method }) => method === 'notifications/tools/list_changed');
    stream.close();
  });

  it('refuses the same subject of another issuer', async () => {
    const [one, other] = [await protectedGateway(), await protectedGateway()];
    const owner = await SessionClient.open(one.gateway.url, await one.bearer());
    const foreign = { ...owner.headers, ...(await other.bearer()) };
    expect((await send(one.gateway.url, 'POST', foreign, owner.message('ping'))).status).toBe(401);
  });

  it("accepts its owner's fresh token", async () => {
    const at = await protectedGateway();
    const owner = await SessionClient.open(at.gateway.url, await at.bearer());
    const fresh = { ...owner.headers, ...(await at.bearer({ jti: 'fresh' })) };
    expect((await send(at.gateway.url, 'POST', fresh, owner.message('ping'))).status).toBe(200);
  });

  it('has an id that discloses nothing about its backend sessions', async () => {
    const sessions: string[] = [];
    const at = await protectedGateway({
      backend: {
        intercept: (request) => {
          const id = request.headers['mcp-session-id'];
          if (typeof id === 'string') sessions.push(id);
          return false;
        },
      },
    });
    const client = await SessionClient.open(at.gateway.url, await at.bearer());
    await client.toolNames();
    const own = client.headers['mcp-session-id'] ?? '';
    expect(own).toMatch(/^[\w-]{32}$/);
    expect(sessions).not.toContain(own);
    expect(sessions.some((id) => Buffer.from(own, 'base64url').toString('latin1').includes(id))).toBe(false);
  });
});

describe('a client that does not read', () => {
  it('slows down only the backend that floods it', async () => {
    const flood = closing(await serveMisbehaving('flood', { tools: 1, bytes: 200 * 1024 * 1024 }));
    const good = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ flood: flood.url, good: good.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const body = client.message('tools/call', { name: 'flood_tool_0', _meta: { progressToken: 1 } });
    const headers = Object.entries(client.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const before = process.memoryUsage.rss();
    const sockets = Array.from({ length: 4 }, () => {
      const socket = connect(gateway.runtime.address.port, '127.0.0.1', () =>
        socket.write(
          `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${gateway.runtime.address.port}\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: ${body.length}\r\n${headers.join('')}\r\n${body}`,
        ),
      );
      socket.pause();
      socket.on('error', () => undefined);
      return socket;
    });
    await sleep(1_000);
    // Backend, gateway and clients all run in this process.
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1024 * 1024);
    expect((await client.call('good_tool_0', { text: 'x' })).answer.result).toBeDefined();
    for (const socket of sockets) socket.destroy();
  });
});

describe('the limits', () => {
  it('refuse subscriptions beyond the limit of one caller, until one of them ends', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url }, { limits: { sessions_per_principal: 3 } });
    const { body, headers } = modernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const streams = [];
    for (let i = 0; i < 3; i++) streams.push(await openStream(gateway.url, headers, body));
    const refused = await send(gateway.url, 'POST', headers, body);
    expect([refused.status, refused.answer.error?.message]).toEqual([429, expect.stringContaining('Too many streams')]);
    expect((await sendModern(gateway.url, 'tools/call', { name: 'a_tool_0' })).answer.result).toBeDefined();
    streams[0]?.close();
    for (let i = 0; i < 50 && streams.length < 4; i++) {
      const again = await openStream(gateway.url, headers, body);
      if (again.status === 200) streams.push(again);
      else await sleep(20);
    }
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const stream of streams) stream.close();
  });

  it('leave one stream of a session open', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    const streams = [];
    for (let i = 0; i < 20; i++) streams.push(await client.stream());
    await sleep(50);
    expect(gateway.runtime.gateway.services.running.size).toBe(1);
    backend.setTools(2);
    await streams.at(-1)?.waitFor(({ method }) => method === 'notifications/tools/list_changed');
    for (const stream of streams) stream.close();
  });

  it('bound the number of sessions of all callers, without delay', async () => {
    const limits = { sessions_per_replica: 500, sessions_per_principal: 100_000 };
    const gateway = await gatewayTo({}, { limits }, { evictableAfter: 0 });
    const started = performance.now();
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    for (let i = 0; i < 40; i++)
      await Promise.all(Array.from({ length: 50 }, () => send(gateway.url, 'POST', {}, body)));
    expect(gateway.runtime.gateway.services.sessions.size).toBe(500);
    expect(performance.now() - started).toBeLessThan(60_000);
  });

  it('refuse large client capabilities', async () => {
    const gateway = await gatewayTo({});
    const capabilities = { experimental: { x: 'y'.repeat(70_000) } };
    await expect(SessionClient.open(gateway.url, {}, capabilities)).rejects.toThrow(/too large/);
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
    expect((await sendModern(gateway.url, 'tools/list', { _meta })).status).toBe(400);
  });
});

describe('an id that a client invents', () => {
  it('matches no request of a backend, and no stream', async () => {
    const backend = closing(await serveEverything());
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    for (const id of ['made-up', 'nobody:1', 7]) {
      const body = JSON.stringify({ jsonrpc: '2.0', id, result: {} });
      expect((await send(gateway.url, 'POST', client.headers, body)).status).toBe(400);
    }
    for (const id of ['made-up', 'nobody:call:1', 'a:call:1:2', '%']) {
      const accept = { accept: 'text/event-stream', 'last-event-id': id };
      const reply = await send(gateway.url, 'GET', { ...client.headers, ...accept });
      expect([400, 404]).toContain(reply.status);
    }
    expect((await client.request('ping')).status).toBe(200);
  });
});

describe('a Last-Event-ID that a client invents', () => {
  it('adds nothing to the messages for the backend when the stream falls silent', async () => {
    const told: string[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (request, response, body) => {
          told.push(body);
          if (!request.headers['last-event-id']) return false;
          response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url }, { operational: { timeouts: { default: '300ms' } } });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    // Most JSON readers take the last of two equal keys.
    const forged = '1},"id":5,"method":"tools/call","params":{"name":"tool_0","arguments":{"text":"forged"}';
    const id = encodeEventId({ backend: 'a', stream: forged, original: '1' }) ?? '';
    const accept = { accept: 'text/event-stream' };
    const { status } = await send(client.url, 'GET', { ...client.headers, ...accept, 'last-event-id': id });
    expect(status).toBe(400);
    expect(told.filter((body) => body.includes('forged'))).toEqual([]);
  });
});

describe('a forgery by a backend', () => {
  it('cannot answer another request', async () => {
    const liar = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('tools/call')) return false;
          const id = (JSON.parse(body) as { id: number }).id;
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          for (const other of [id - 1, id + 1, 'x', id])
            response.write(
              `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: other, result: { content: [], from: 'liar' } })}\n\n`,
            );
          response.end();
          return true;
        },
      }),
    );
    const slow = closing(await serveMisbehaving('slow', { tools: 1, delayMs: 300 }));
    const gateway = await gatewayTo({ liar: liar.url, slow: slow.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const honest = client.call('slow_tool_0', { text: 'x' });
    const lied = await client.call('liar_tool_0', { text: 'x' });
    expect(lied.messages).toHaveLength(1);
    expect(JSON.stringify((await honest).messages)).not.toContain('liar');
  });

  it('loses its protocol-owned _meta keys, in answers, notifications and requests', async () => {
    const forged = { 'io.modelcontextprotocol/subscriptionId': 'forged', mine: 1 };
    const liar = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('tools/call')) return false;
          const id = (JSON.parse(body) as { id: number }).id;
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          const messages = [
            { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1, _meta: forged } },
            { jsonrpc: '2.0', id: 0, method: 'roots/list', params: { _meta: forged } },
            { jsonrpc: '2.0', id, result: { content: [], _meta: forged } },
          ];
          for (const message of messages) response.write(`data: ${JSON.stringify(message)}\n\n`);
          response.end();
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: liar.url });
    const client = await SessionClient.open(gateway.url, {}, { roots: {} });
    const { messages, text } = await client.call('a_tool_0', { text: 'x' });
    expect(messages).toHaveLength(3);
    expect(text).not.toContain('forged');
    expect(text.match(/"mine":1/g)).toHaveLength(3);
    const modern = await sendModern(gateway.url, 'tools/call', { name: 'a_tool_0' });
    // Revision 2026-07-28 has no requests from servers.
    expect(modern.messages).toHaveLength(2);
    expect(modern.text).not.toContain('forged');
  });
});
