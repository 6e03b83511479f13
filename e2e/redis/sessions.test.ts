import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { RedisRecords } from '#runtime/mcp/sessions/storage/redis-records';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { serveIdentityProvider } from '../fakes/identity-provider/serve.ts';
import type { Intercept } from '../fakes/mcp/serve.ts';
import { openStream, send, SessionClient, type Rpc } from '../gateway/session-client.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { describeWithRedis } from './redis-programs.ts';
import { deleteAt, notifyAt, replicaOf, requestAt, sharedIn } from './replicas.ts';
import { until } from '../gateway/until.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

const isMethod = (method: string) => (message: Rpc) => message.method === method;

describeWithRedis('a session that one replica opened', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  const shared = () => sharedIn({ addr: redis!.address });
  const plain = async () => closing(await servePlain({ tools: 2 }));
  /** Returns a backend with the ids of its sessions that called tools. */
  const watched = async (port = 0, host = '127.0.0.1') => {
    const used: unknown[] = [];
    const intercept: Intercept = ({ headers }, _response, body) => {
      if (body.includes('tools/call')) used.push(headers['mcp-session-id']);
      return false;
    };
    return { used, backend: closing(await servePlain({ tools: 2, port, host, intercept })) };
  };

  it('works at any other replica, with the same backend sessions', async () => {
    const [{ backend, used }, sharing] = [await watched(), shared()];
    const [a, b, c] = [
      await replicaOf(sharing, { one: backend.url }),
      await replicaOf(sharing, { one: backend.url }),
      await replicaOf(sharing, { one: backend.url }),
    ];
    const client = await SessionClient.open(a.url);
    const list = await requestAt(b, client, 'tools/list');
    expect((list.answer.result?.tools as { name: string }[]).map(({ name }) => name)).toEqual([
      'one_tool_0',
      'one_tool_1',
    ]);
    for (const replica of [b, c, a, c]) {
      const reply = await requestAt(replica, client, 'tools/call', { name: 'one_tool_0', arguments: { text: 'x' } });
      expect(reply.answer.result).toMatchObject({ content: [{ type: 'text' }] });
    }
    expect(used).toHaveLength(4);
    expect(new Set(used).size).toBe(1);
  });

  it('continues after that replica is gone', async () => {
    const [{ backend, used }, sharing] = [await watched(), shared()];
    const a = await replicaOf(sharing, { one: backend.url });
    const client = await SessionClient.open(a.url);
    await client.call('one_tool_0', { text: 'x' });
    const backendSession = a.runtime.gateway.services.sessions.get(client.headers['mcp-session-id'] ?? '')
      ?.backendSessions[0]?.sessionId;
    await a.runtime.stop();
    const b = await replicaOf(sharing, { one: backend.url });
    const reply = await requestAt(b, client, 'tools/call', { name: 'one_tool_1', arguments: { text: 'x' } });
    expect(reply.answer.result).toBeDefined();
    expect(used).toEqual([backendSession, backendSession]);
  });

  it('begins at one replica and is initialized at another: each backend gets one notification', async () => {
    const told: unknown[] = [];
    const backend = closing(
      await servePlain({
        tools: 2,
        intercept: ({ headers }, _response, body) => {
          if (body.includes('notifications/initialized')) told.push(headers['mcp-session-id']);
          return false;
        },
      }),
    );
    const sharing = shared();
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const opened = await send(a.url, 'POST', {}, body);
    const id = String(opened.headers['mcp-session-id']);
    const ask = (replica: typeof a, message: object) =>
      send(replica.url, 'POST', { 'mcp-session-id': id }, JSON.stringify({ jsonrpc: '2.0', ...message }));
    await ask(a, { id: 1, method: 'tools/call', params: { name: 'one_tool_0', arguments: { text: 'x' } } });
    const backendSession = a.runtime.gateway.services.sessions.get(id)?.backendSessions[0]?.sessionId;
    expect(backendSession).toBeDefined();
    expect(told).not.toContain(backendSession);
    expect((await ask(b, { method: 'notifications/initialized' })).status).toBe(202);
    for (const replica of [a, b, a]) expect((await ask(replica, { id: 1, method: 'tools/list' })).status).toBe(200);
    expect(told.filter((one) => one === backendSession)).toHaveLength(1);
  });

  it('ends at all replicas if it ends at one', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    expect((await requestAt(b, client, 'ping')).status).toBe(200);
    const stream = await client.stream();
    expect((await deleteAt(b, client)).status).toBe(204);
    await until('the end at the first', async () => (await requestAt(a, client, 'ping')).status === 404);
    expect((await requestAt(b, client, 'ping')).status).toBe(404);
    expect((await deleteAt(a, client)).status).toBe(404);
    expect(a.runtime.gateway.services.sessions.size).toBe(0);
    stream.close();
  });

  it('has one backend session after the backend forgot the old one, whichever replica notices first', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    const call = { name: 'one_tool_0', arguments: { text: 'x' } };
    for (const replica of [a, b]) await requestAt(replica, client, 'tools/call', call);
    const { port } = backend;
    await backend.close();
    const { used } = await watched(port);
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, nr) => requestAt(nr % 2 === 0 ? a : b, client, 'tools/call', call)),
    );
    expect(replies.every(({ answer }) => answer.result !== undefined)).toBe(true);
    const idOf = (gateway: typeof a) =>
      gateway.runtime.gateway.services.sessions.get(client.headers['mcp-session-id'] ?? '')?.backendSessions[0]
        ?.sessionId;
    await until('the same backend session at both replicas', () =>
      Promise.resolve(idOf(a) !== undefined && idOf(a) === idOf(b)),
    );
    const before = used.length;
    for (const replica of [a, b]) await requestAt(replica, client, 'tools/call', call);
    expect(used.slice(before)).toEqual([idOf(a), idOf(a)]);
  });

  it('stays at the backend pod that opened it, whichever replica calls', async () => {
    const [first, sharing] = [await watched(), shared()];
    const second = await watched(first.backend.port, '127.0.0.2');
    const backends = { one: { url: first.backend.url, pods_host: 'pods' } };
    const lookUp = () => Promise.resolve(['127.0.0.1', '127.0.0.2']);
    const [a, b] = [
      await replicaOf(sharing, backends, {}, { lookUp }),
      await replicaOf(sharing, backends, {}, { lookUp }),
    ];
    const clients: SessionClient[] = [];
    for (let nr = 0; nr < 4; nr += 1) clients.push(await SessionClient.open(a.url));
    const call = { name: 'one_tool_0', arguments: { text: 'x' } };
    for (const client of clients) {
      for (const replica of [b, a, b])
        expect((await requestAt(replica, client, 'tools/call', call)).answer.result).toBeDefined();
    }
    const [here, there] = [new Set(first.used), new Set(second.used)];
    expect(Math.min(here.size, there.size)).toBeGreaterThan(0);
    // A call at the wrong pod would have opened another backend session.
    expect(here.size + there.size).toBe(clients.length);
    expect(first.used.length + second.used.length).toBe(3 * clients.length);
  });

  it('needs no Redis request for a call at a replica that knows it', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    const call = { name: 'one_tool_0', arguments: { text: 'x' } };
    const callBoth = () =>
      Promise.all([a, b].map((replica) => requestAt(replica, client, 'tools/call', call).then(({ status }) => status)));
    await callBoth();
    const asked = async () => {
      const stats = String(await redis!.command('INFO', 'commandstats'));
      return [...stats.matchAll(/cmdstat_(evalsha|eval|publish|hgetall):calls=(\d+)/g)].map(([line]) => line);
    };
    const before = await asked();
    for (let turn = 0; turn < 50; turn += 1) expect(await callBoth()).toEqual([200, 200]);
    expect(await asked()).toEqual(before);
  });

  it('stays unknown to another principal at every replica, and open for its owner', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const identity = closing(await serveIdentityProvider({ audiences: ['mcp'] }));
    const incoming: GatewayConfig['incoming'] = {
      type: 'oidc',
      ...{ issuer: identity.issuer, jwks_url: identity.jwksUrl, audience: 'mcp' },
      ...{ insecure_allow_http: true, jwks_allow_private_ip: true },
    };
    const [a, b] = [
      await replicaOf(sharing, { one: backend.url }, { incoming }),
      await replicaOf(sharing, { one: backend.url }, { incoming }),
    ];
    const as = async (sub: string) => ({ authorization: `Bearer ${await identity.sign({ sub, aud: 'mcp' })}` });
    const client = await SessionClient.open(a.url, await as('alice'));
    const body = client.message('ping');
    const stranger = { ...client.headers, ...(await as('mallory')) };
    for (const replica of [b, a, b]) {
      expect((await send(replica.url, 'POST', stranger, body)).status).toBe(404);
      expect((await send(replica.url, 'DELETE', stranger)).status).toBe(404);
    }
    for (const replica of [a, b]) expect((await requestAt(replica, client, 'ping')).status).toBe(200);
  });

  it('ends after it was idle at all replicas, and its backend sessions end with it', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const ended: string[] = [];
    const noting = closing(
      await servePlain({
        tools: 1,
        intercept: ({ method, headers }) => {
          if (method === 'DELETE') ended.push(String(headers['mcp-session-id']));
          return false;
        },
      }),
    );
    const limits = { session_idle: '1s' };
    const urls = { one: backend.url, two: noting.url };
    const [a, b] = [await replicaOf(sharing, urls, { limits }), await replicaOf(sharing, urls, { limits })];
    const client = await SessionClient.open(a.url);
    await client.call('two_tool_0', { text: 'x' });
    const begun = ended.length;
    // Only one replica gets requests: the other one neither ends nor forgets the session for good.
    for (let turn = 0; turn < 8; turn += 1) {
      expect((await requestAt(b, client, 'ping')).status).toBe(200);
      await sleep(250);
    }
    expect((await requestAt(a, client, 'ping')).status).toBe(200);
    await until('the end of its backend session', () => Promise.resolve(ended.length === begun + 1));
    for (const replica of [a, b]) expect((await requestAt(replica, client, 'ping')).status).toBe(404);
  });

  it('ends for the principal’s next session, at whichever replica that one begins', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const limits = { sessions_per_principal: 2 };
    const [a, b] = [
      await replicaOf(sharing, { one: backend.url }, { limits }, { evictableAfter: 0 }),
      await replicaOf(sharing, { one: backend.url }, { limits }, { evictableAfter: 0 }),
    ];
    const clients: SessionClient[] = [];
    for (const replica of [a, b, a]) {
      clients.push(await SessionClient.open(replica.url));
      await sleep(5);
    }
    const statusesAt = (replica: typeof a) =>
      Promise.all(clients.map(async (client) => (await requestAt(replica, client, 'ping')).status));
    await until('the end of the first', async () => (await statusesAt(a)).join() === '404,200,200');
    expect(await statusesAt(b)).toEqual([404, 200, 200]);
  });

  it('survives an eviction by another replica during a call, and not with an open stream alone', async () => {
    const held: (() => void)[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('tools/call')) return false;
          const { id } = JSON.parse(body) as Rpc;
          const text = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } });
          held.push(() => response.writeHead(200, { 'content-type': 'application/json' }).end(text));
          return true;
        },
      }),
    );
    const sharing = shared();
    // Replicas report use every 200 ms.
    const limits = { sessions_per_principal: 2, session_idle: '12s' };
    const replica = () => replicaOf(sharing, { one: backend.url }, { limits }, { evictableAfter: 2_000 });
    const [a, b] = [await replica(), await replica()];
    const calling = await SessionClient.open(a.url);
    const call = calling.call('one_tool_0', { text: 'x' });
    await until('the call', () => Promise.resolve(held.length === 1));
    const streaming = await SessionClient.open(a.url);
    const stream = await streaming.stream();
    let newest: SessionClient | undefined;
    await until('a free place for another session', async () => {
      newest = await SessionClient.open(b.url).catch(() => undefined);
      return newest !== undefined;
    });
    await until('the end of the stream', () => Promise.resolve(!stream.isOpen()));
    for (const answer of held) answer();
    expect((await call).answer.result).toBeDefined();
    const statuses = [calling, streaming, newest!].map(async (client) => (await requestAt(b, client, 'ping')).status);
    expect(await Promise.all(statuses)).toEqual([200, 404, 200]);
  });

  it('leaves the memory of a replica beyond its limit without ending', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const a = await replicaOf(
      sharing,
      { one: backend.url },
      { limits: { sessions_per_replica: 2, sessions_per_principal: 100 } },
    );
    const clients = [];
    for (let nr = 0; nr < 4; nr += 1) clients.push(await SessionClient.open(a.url));
    expect(a.runtime.gateway.services.sessions.size).toBe(2);
    for (const client of clients) expect((await client.request('ping')).status).toBe(200);
  });

  it('gets updates on its stream at one replica for subscriptions made at another, until it unsubscribes', async () => {
    const [backend, sharing] = [closing(await serveEverything()), shared()];
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    const stream = await client.stream();
    const uri = 'test://watched-resource';
    const update = (content: string) =>
      requestAt(b, client, 'tools/call', { name: 'one_test_trigger_resource_update', arguments: { content } });
    expect((await requestAt(b, client, 'resources/subscribe', { uri })).answer.result).toBeDefined();
    await update('first');
    await stream.waitFor(isMethod('notifications/resources/updated'));
    await requestAt(b, client, 'resources/unsubscribe', { uri });
    await update('second');
    await sleep(300);
    expect(stream.messages().filter(isMethod('notifications/resources/updated'))).toHaveLength(1);
    stream.close();
  });

  it('sees changed lists at every replica once its stream at one has announced them', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    const stream = await client.stream();
    const toolsAt = async (replica: typeof a) =>
      ((await requestAt(replica, client, 'tools/list')).answer.result?.tools as unknown[]).length;
    expect([await toolsAt(a), await toolsAt(b)]).toEqual([2, 2]);
    backend.setTools(5);
    await stream.waitFor(isMethod('notifications/tools/list_changed'));
    expect([await toolsAt(b), await toolsAt(a)]).toEqual([5, 5]);
    stream.close();
  });

  it('has one stream: the one that its client opened last, at any replica', async () => {
    const [backend, sharing] = [closing(await serveEverything()), shared()];
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    await client.stream();
    const second = await openStream(b.url, client.headers);
    const session = () => a.runtime.gateway.services.sessions.get(client.headers['mcp-session-id'] ?? '');
    await until('the end of the first stream', () => Promise.resolve(session()?.stream === undefined));
    await until('the backend’s stream at the second', async () => {
      await requestAt(a, client, 'tools/call', { name: 'one_test_trigger_prompt_change', arguments: {} });
      await sleep(200);
      return second.messages().some(isMethod('notifications/prompts/list_changed'));
    });
    second.close();
  });

  it('keeps the stream that its client opened last if replicas get both events late', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    expect((await requestAt(b, client, 'ping')).answer.result).toEqual({});
    await redis!.command('CLIENT', 'PAUSE', '500', 'WRITE');
    await client.stream();
    const second = await openStream(b.url, client.headers);
    const streamAt = ({ runtime }: typeof a) =>
      runtime.gateway.services.sessions.get(client.headers['mcp-session-id'] ?? '')?.stream;
    await until('the end of the first stream', () => Promise.resolve(streamAt(a) === undefined));
    await until('word of the second', () => Promise.resolve(streamAt(b)?.isTold === true));
    second.close();
  });

  it('has one stream although the event of the last one could not be published at first', async () => {
    const [backend, sharing] = [await plain(), shared()];
    const limits = { session_idle: '30s' };
    const replica = () => replicaOf(sharing, { one: backend.url }, { limits });
    const [a, b] = [await replica(), await replica()];
    const client = await SessionClient.open(a.url);
    expect((await requestAt(b, client, 'ping')).answer.result).toEqual({});
    await client.stream();
    const streamAt = ({ runtime }: typeof a) =>
      runtime.gateway.services.sessions.get(client.headers['mcp-session-id'] ?? '')?.stream;
    await until('word of the first', () => Promise.resolve(streamAt(a)?.isTold === true));
    const publish = jest.spyOn(RedisRecords.prototype, 'publish').mockRejectedValueOnce(new Error('lost'));
    const second = await openStream(b.url, client.headers);
    await until('the end of the first stream', () => Promise.resolve(streamAt(a) === undefined));
    expect(streamAt(b)).toBeDefined();
    publish.mockRestore();
    second.close();
  });

  it('answers a backend’s request at another replica than the asking one', async () => {
    const [backend, sharing] = [closing(await serveEverything()), shared()];
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url, {}, { sampling: {} });
    const call = { name: 'one_test_sampling', arguments: { prompt: 'x' } };
    const stream = await openStream(a.url, client.headers, client.message('tools/call', call));
    const asked = await stream.waitFor(isMethod('sampling/createMessage'));
    const result = { role: 'assistant', content: { type: 'text', text: 'from afar' }, model: 'm' };
    expect((await notifyAt(b, client, { id: asked.id, result })).status).toBe(202);
    const done = await stream.waitFor(({ result: answer }) => answer !== undefined);
    expect(JSON.stringify(done.result)).toContain('from afar');
    stream.close();
  });

  it('resumes the stream of a call at another replica', async () => {
    const [backend, sharing] = [closing(await serveEverything()), shared()];
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    const call = { name: 'one_test_reconnection', arguments: {} };
    const first = await requestAt(a, client, 'tools/call', call);
    expect(first.answer.result).toBeUndefined();
    const lastId = /^id: ?(.+)$/m.exec(first.text)?.[1] ?? '';
    const rest = await openStream(b.url, { ...client.headers, 'last-event-id': lastId });
    const done = await rest.waitFor(({ result }) => result !== undefined);
    expect(JSON.stringify(done.result)).toContain('Reconnection test completed successfully.');
    rest.close();
  });

  it('cancels a call at another replica than the calling one', async () => {
    const cancelled: Rpc[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, _response, body) => {
          if (body.includes('notifications/cancelled')) cancelled.push(JSON.parse(body) as Rpc);
          return body.includes('tools/call');
        },
      }),
    );
    const sharing = shared();
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    await client.toolNames();
    const message = client.message('tools/call', { name: 'one_tool_0', arguments: { text: 'x' } });
    const call = send(a.url, 'POST', client.headers, message).catch(() => undefined);
    await until('the call', () => Promise.resolve(a.runtime.gateway.services.running.size === 1));
    const { id } = JSON.parse(message) as { id: number };
    await notifyAt(b, client, { method: 'notifications/cancelled', params: { requestId: id } });
    await until('the cancellation at the backend', () => Promise.resolve(cancelled.length === 1));
    expect(cancelled[0]?.params).toEqual({ requestId: id });
    await a.runtime.stop();
    await call;
  });
});
