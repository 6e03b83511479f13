import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { encodeEventId } from '#runtime/mcp/sse/event-id';
import { serve } from '#runtime/serve';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { openStream, send, sendModern, SessionClient, modernRequest, type Rpc } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

/** Serves the gateway's endpoint at another port. Its authentication ends after the client has disconnected. */
async function serveSlowly(gateway: ServedGateway) {
  let settled = 0;
  const server = createServer((req, res: ServerResponse) => {
    const left = new Promise<void>((resolve) => res.once('close', () => setImmediate(resolve)));
    const authenticator = {
      ...gateway.runtime.gateway.services.authenticator,
      authenticate: () => left.then(() => ANONYMOUS),
    };
    // The gateway knows another port as its own.
    const hostOrigin = { ...gateway.runtime.gateway.services.hostOrigin, check: () => undefined };
    void serve(req, res, { ...gateway.runtime.gateway.services, authenticator, hostOrigin }).finally(() => settled++);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  closing({ close: () => new Promise((resolve) => server.close(resolve)) });
  const { running } = gateway.runtime.gateway.services;
  return {
    /** Sends a request and disconnects during authentication. */
    async leave(headers: Record<string, string>, body?: string) {
      const before = settled;
      const abort = new AbortController();
      const sent = fetch(url, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
        signal: abort.signal,
        ...(body === undefined ? {} : { body }),
      }).catch(() => undefined);
      await until('the request', () => running.size > 0);
      await sleep(20);
      abort.abort();
      await sent;
      await until('its end', () => settled > before && running.size === 0);
    },
  };
}

describe('a client that disconnects during authentication', () => {
  it('leaves no stream in its session', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await (await serveSlowly(gateway)).leave(client.headers);
    const { sessions } = gateway.runtime.gateway.services;
    expect(sessions.get(client.headers['mcp-session-id'] ?? '')?.stream).toBeUndefined();
  });

  it('uses no slot of resumed or listening streams', async () => {
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (request, response) => {
          if (!request.headers['last-event-id']) return false;
          response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url }, { limits: { sessions_per_principal: 1 } });
    const client = await SessionClient.open(gateway.url);
    const headers: Record<string, string> = {
      ...client.headers,
      'last-event-id': encodeEventId({ backend: 'a', stream: '1', original: '1' }) ?? '',
    };
    await client.call('a_tool_0', { text: 'x' });
    const slow = await serveSlowly(gateway);
    await slow.leave(headers);
    const resumed = await openStream(gateway.url, headers);
    expect(resumed.status).toBe(200);
    resumed.close();
    await until('the end of all requests', () => gateway.runtime.gateway.services.running.size === 0);
    const listen = modernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const again = await openStream(gateway.url, listen.headers, listen.body);
    expect(again.status).toBe(200);
    again.close();
  });
});

const outcomes = (gateway: ServedGateway) => [...gateway.log().matchAll(/"outcome":"(\w+)"/g)].map(([, one]) => one);
const audited = { audit_config: { enabled: true } };
const idOf = (body: string) => (JSON.parse(body) as Rpc).id;

describe('the outcome of a call in the audit log', () => {
  it('becomes error if the backend falls silent after the beginning of its answer', async () => {
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('"tools/call"')) return false;
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n');
          return true;
        },
      }),
    );
    const gateway = await gatewayTo(
      { a: backend.url },
      { ...audited, operational: { timeouts: { default: '300ms' } } },
    );
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    expect((await client.call('a_tool_0', { text: 'x' })).answer.error?.data).toMatchObject({ reason: 'timeout' });
    await until('its outcome', () => outcomes(gateway).at(-1) === 'error');
    const other = await sendModern(gateway.url, 'tools/call', { name: 'a_tool_0', arguments: { text: 'x' } });
    expect(other.answer.error).toBeDefined();
    await until('its outcome', () => outcomes(gateway).filter((one) => one === 'error').length === 2);
  });

  it('becomes failure if the backend answers with an error, which reaches the client at HTTP 200', async () => {
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('"tools/call"')) return false;
          const answer = { jsonrpc: '2.0', id: idOf(body), error: { code: -32603, message: 'broken' } };
          response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url }, audited);
    const client = await SessionClient.open(gateway.url);
    const { status, answer } = await client.call('a_tool_0', { text: 'x' });
    expect([status, answer.error?.message]).toEqual([200, 'broken']);
    await until('its outcome', () => outcomes(gateway).at(-1) === 'failure');
  });

  it('becomes failure if that error is so large that it passes in parts', async () => {
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('"tools/call"')) return false;
          const error = { code: -32603, message: 'broken', data: 'x'.repeat(2_000_000) };
          const answer = JSON.stringify({ jsonrpc: '2.0', id: idOf(body), error });
          response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url }, audited);
    const client = await SessionClient.open(gateway.url);
    expect((await client.call('a_tool_0', { text: 'x' })).answer.error?.message).toBe('broken');
    await until('its outcome', () => outcomes(gateway).filter((one) => one === 'failure').length === 1);
    const other = await sendModern(gateway.url, 'tools/call', { name: 'a_tool_0', arguments: { text: 'x' } });
    expect(other.answer.error?.message).toBe('broken');
    await until('its outcome', () => outcomes(gateway).filter((one) => one === 'failure').length === 2);
  });
});

/** Starts a backend that records foreign session ids, and that can forget all its sessions. */
async function watchful(name: string) {
  const opened = new Set<string>();
  const lost = new Set<string>();
  const ended: string[] = [];
  const strangers: string[] = [];
  const state = { isSlow: false, opening: 0 };
  let count = 0;
  const open = (response: ServerResponse, body: string) => {
    const id = `${name}-${count++}`;
    opened.add(id);
    state.opening++;
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name, version: '1' } };
    const answer = JSON.stringify({ jsonrpc: '2.0', id: idOf(body), result });
    const send = () =>
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': id }).end(answer);
    setTimeout(send, state.isSlow ? 500 : 0);
  };
  const reply = (response: ServerResponse, body: string) => {
    const isList = body.includes('"tools/list"');
    const result = isList ? { tools: [{ name: 'tool_0', inputSchema: { type: 'object' } }] } : { content: [] };
    const id = idOf(body);
    if (id === undefined) response.writeHead(202).end();
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  const served = closing(
    await servePlain({
      tools: 1,
      intercept: (request, response, body) => {
        const session = request.headers['mcp-session-id'];
        if (body.includes('"initialize"')) open(response, body);
        else if (session === undefined) return false;
        else if (request.method === 'DELETE') response.writeHead(204).end(void ended.push(String(session)));
        else if (request.method === 'GET') response.writeHead(405).end();
        else if (opened.has(String(session)) && !lost.has(String(session))) reply(response, body);
        else {
          if (!lost.has(String(session))) strangers.push(String(session));
          response.writeHead(404).end();
        }
        return true;
      },
    }),
  );
  return { url: served.url, strangers, ended, state, forget: () => opened.forEach((id) => lost.add(id)), opened };
}

describe('a backend session that is still opening', () => {
  it('does not reach the backend that a reload has put in its place', async () => {
    const [old, fresh] = [await watchful('old'), await watchful('fresh')];
    const gateway = await gatewayTo({ a: old.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    old.forget();
    Object.assign(old.state, { isSlow: true, opening: 0 });
    const late = client.call('a_tool_0', { text: 'x' });
    await until('an opening', () => old.state.opening > 0);
    await gateway.reconfigure(configTo({ a: fresh.url }));
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
    await late;
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
    await sleep(300);
    expect(fresh.strangers).toEqual([]);
  });

  it('ends if its client has ended the session meanwhile', async () => {
    const backend = await watchful('a');
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    backend.forget();
    Object.assign(backend.state, { isSlow: true, opening: 0 });
    const call = client.call('a_tool_0', { text: 'x' });
    await until('an opening', () => backend.state.opening > 0);
    const opened = [...backend.opened].at(-1);
    await send(gateway.url, 'DELETE', client.headers);
    await call;
    await until('the end of that session', () => backend.ended.includes(opened ?? ''));
  });
});

describe('a session with a running call', () => {
  it('stays while an idle session can be evicted for another', async () => {
    let answer: (() => void) | undefined;
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('"tools/call"')) return false;
          const text = JSON.stringify({ jsonrpc: '2.0', id: idOf(body), result: { content: [] } });
          answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end(text);
          return true;
        },
      }),
    );
    const gateway = await gatewayTo(
      { a: backend.url },
      { limits: { sessions_per_principal: 2 } },
      { evictableAfter: 0 },
    );
    const busy = await SessionClient.open(gateway.url);
    const call = busy.call('a_tool_0', { text: 'x' });
    await until('the answer', () => answer !== undefined);
    const idle = await SessionClient.open(gateway.url);
    await SessionClient.open(gateway.url);
    answer?.();
    expect((await call).answer.result).toBeDefined();
    expect((await busy.request('ping')).status).toBe(200);
    expect((await idle.request('ping')).status).toBe(404);
  });
});

describe("a backend's stream", () => {
  it('waits before it opens again, whatever retry time the backend sends', async () => {
    let opened = 0;
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (request, response) => {
          if (request.method !== 'GET') return false;
          opened++;
          response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 0\nid: 1\ndata:\n\n');
          return true;
        },
      }),
    );
    const client = await SessionClient.open((await gatewayTo({ a: backend.url })).url);
    const stream = await client.stream();
    await sleep(400);
    stream.close();
    expect(opened).toBe(1);
  });
});

describe('a resumed stream', () => {
  const silent = () =>
    servePlain({
      tools: 1,
      intercept: (request, response) => {
        if (!request.headers['last-event-id']) return false;
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        return true;
      },
    });
  const resume = (client: SessionClient) =>
    client.stream({ 'last-event-id': encodeEventId({ backend: 'a', stream: '1', original: '1' }) ?? '' });

  it('ends with the gateway', async () => {
    const gateway = await gatewayTo({ a: closing(await silent()).url });
    const client = await SessionClient.open(gateway.url);
    await client.call('a_tool_0', { text: 'x' });
    await resume(client);
    const { gateway: served } = gateway.runtime;
    expect(served.services.running.size).toBe(1);
    served.endStreams();
    await until('the end of all requests', () => served.services.running.size === 0);
  });

  it('gets an error status if its backend accepts no connection', async () => {
    const backend = await servePlain({ tools: 1 });
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.call('a_tool_0', { text: 'x' });
    await backend.close();
    // Clients take any 200 for the stream, and resume it again at its end.
    expect((await resume(client)).status).toBe(502);
  });

  it('ends if its backend is silent for longer than a call may be', async () => {
    const operational = { timeouts: { default: '300ms' } };
    const gateway = await gatewayTo({ a: closing(await silent()).url }, { operational });
    await resume(await SessionClient.open(gateway.url));
    await until('the end of all requests', () => gateway.runtime.gateway.services.running.size === 0);
  });
});
