import { request as httpRequest, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import type { Intercept } from '../fakes/mcp/serve.ts';
import { allow, serveWebhook } from '../fakes/webhook/serve-webhook.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { send, sendModern, SessionClient, modernRequest } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from '../relay/gateway-to.ts';
import { protectedGateway } from './protected-gateway.ts';

afterEach(closeAll);

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const CALL = { name: 'a_tool_0', arguments: { text: 'x' } };
const idOf = (message: string) => (JSON.parse(message) as { id: number }).id;

/** Starts a backend that holds its calls, with a function that answers all of them. */
function keepingCalls() {
  const kept: { response: ServerResponse; id: unknown }[] = [];
  return {
    kept,
    intercept: (_request: unknown, response: ServerResponse, body: string) => {
      if (!body.includes('"tools/call"')) return false;
      kept.push({ response, id: (JSON.parse(body) as { id: unknown }).id });
      return true;
    },
    answer() {
      for (const { response, id } of kept.splice(0))
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', content: [] } }));
    },
  };
}

describe('a call that its client cancels during a webhook', () => {
  it('never reaches the backend, however late the webhook allows it', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const hook = closing(await serveWebhook(allow));
    const webhooks = [{ name: 'slow', url: hook.url }];
    const gateway = await gatewayTo({ a: { url: backend.url, webhooks } });
    const client = await SessionClient.open(gateway.url);
    let letThrough: () => void = () => undefined;
    hook.decideLater = (asked) =>
      new Promise((resolve) => {
        letThrough = () => resolve(allow(asked));
      });
    const call = client.message('tools/call', CALL);
    const answered = send(client.url, 'POST', client.headers, call);
    await until('the webhook', () => hook.asked.length === 1);
    await client.notify('notifications/cancelled', { requestId: idOf(call) });
    // Longer than the runtime waits for a request that arrives after its own cancellation.
    await sleep(2_500);
    await client.request('ping');
    letThrough();
    expect((await answered).status).toBe(202);
    expect(backend.counts.get('tools/call')).toBeUndefined();
  });
});

describe('a cancellation', () => {
  it('ends no request with the same id in another session or of another principal', async () => {
    const held = keepingCalls();
    const at = await protectedGateway({ backend: { intercept: held.intercept } });
    const owner = await SessionClient.open(at.gateway.url, await at.bearer());
    const beside = await SessionClient.open(at.gateway.url, await at.bearer());
    const mallory = await SessionClient.open(at.gateway.url, await at.bearer({ sub: 'mallory' }));
    const call = owner.message('tools/call', CALL);
    const answered = send(owner.url, 'POST', owner.headers, call);
    await until('the call', () => held.kept.length === 1);
    for (const other of [beside, mallory])
      for (const requestId of [idOf(call), String(idOf(call))])
        await other.notify('notifications/cancelled', { requestId });
    for (const requestId of [String(idOf(call)), idOf(call) + 0.5, null, [idOf(call)], { id: idOf(call) }, true])
      await owner.notify('notifications/cancelled', { requestId });
    expect(at.gateway.runtime.gateway.services.backends.get('a')?.running).toBe(1);
    held.answer();
    expect((await answered).answer.result).toBeDefined();
  });

  it('leaves the session and its ids usable if it names initialize, an answered request, or no request', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.call(CALL.name, CALL.arguments);
    for (const requestId of [0, 1, 'a:1', '"1"', 'YQ.1'])
      expect((await client.notify('notifications/cancelled', { requestId })).status).toBe(202);
    const again = await client.call(CALL.name, CALL.arguments);
    expect(again.answer.result).toBeDefined();
  });
});

describe('a call of 2026-07-28 whose client disconnects during tools/list', () => {
  it('does not reach the backend', async () => {
    let lists: (() => void)[] | undefined = [];
    const held = keepingCalls();
    const { kept } = held;
    const slow: Intercept = (request, response, body) => {
      if (lists === undefined || !body.includes('"tools/list"')) return held.intercept(request, response, body);
      const { id } = JSON.parse(body) as { id: unknown };
      const tools = [{ name: 'tool_0', inputSchema: { type: 'object' } }];
      lists.push(() => {
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', tools } }));
      });
      return true;
    };
    const backend = closing(await servePlain({ tools: 1, intercept: slow }));
    const gateway = closing(await serveGateway(configTo({ a: backend.url }), { probed: false }));
    await until('the probe', () => gateway.runtime.gateway.services.backends.get('a')?.health.phase === 'ready');
    const { body, headers } = modernRequest('tools/call', CALL);
    const left = httpRequest(gateway.url, { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, agent: false });
    left.on('error', () => undefined).end(body);
    await until('the call', () => lists?.length !== 0 && gateway.runtime.gateway.services.running.size > 0);
    left.destroy();
    await until('the client to be gone', () =>
      gateway.runtime.gateway.services.running.all().every(({ req }) => req.socket.destroyed),
    );
    for (const list of lists.splice(0)) list();
    lists = undefined;
    const served = sendModern(gateway.url, 'tools/call', CALL);
    await until('the other call', () => kept.length > 0);
    await until('the end of the first', () => gateway.runtime.gateway.services.running.size === 1);
    expect(kept).toHaveLength(1);
    held.answer();
    expect((await served).answer.result).toBeDefined();
  });
});

describe('a flood of messages to a backend that answers none', () => {
  it('takes no stream slot, and few message slots', async () => {
    const streams: string[] = [];
    let flooded: number | undefined;
    const intercept: Intercept = (request, _response, body) => {
      if (request.method === 'GET') streams.push(String(request.headers['mcp-session-id']));
      if (flooded === undefined || !body.includes('roots/list_changed')) return false;
      flooded += 1;
      return true;
    };
    const backend = closing(await servePlain({ tools: 1, intercept }));
    const limits = { sessions_per_replica: 150, list_deadline: '1h' };
    const gateway = await gatewayTo({ a: backend.url }, { limits });
    const hostile = await SessionClient.open(gateway.url);
    await hostile.call(CALL.name, CALL.arguments);
    flooded = 0;
    const more = await SessionClient.open(gateway.url);
    await more.call(CALL.name, CALL.arguments);
    const flood = [hostile, more].flatMap((client) =>
      Array.from({ length: 200 }, () => client.notify('notifications/roots/list_changed')),
    );
    for (const { status } of await Promise.all(flood)) expect(status).toBe(202);
    await until('the flood', () => flooded === 150);
    const other = await SessionClient.open(gateway.url);
    await other.call(CALL.name, CALL.arguments);
    const stream = await other.stream();
    await until('its stream at the backend', () => streams.length > 0);
    stream.close();
  });

  it('leaves the slots beyond the limit of one session to other sessions', async () => {
    let isFlooded = false;
    let waiting = 0;
    const intercept: Intercept = (_request, _response, body) => {
      if (!isFlooded || !body.includes('roots/list_changed')) return false;
      waiting += 1;
      return true;
    };
    const backend = closing(await servePlain({ tools: 1, intercept }));
    const limits = { sessions_per_replica: 150, list_deadline: '1h' };
    const operational = { failure_handling: { health_check_interval: '1h' } };
    const gateway = await gatewayTo({ a: backend.url }, { limits, operational });
    const hostile = await SessionClient.open(gateway.url);
    await hostile.call(CALL.name, CALL.arguments);
    isFlooded = true;
    const flood = Array.from({ length: 300 }, () => hostile.notify('notifications/roots/list_changed'));
    for (const { status } of await Promise.all(flood)) expect(status).toBe(202);
    await until('the flood', () => waiting >= 100);
    const initialized = () => backend.counts.get('notifications/initialized') ?? 0;
    const before = initialized();
    const other = await SessionClient.open(gateway.url);
    await other.call(CALL.name, CALL.arguments);
    await until('its notification', () => initialized() > before);
  });
});
