import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { createConnection, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { openStream, SessionClient, modernRequest } from '../gateway/session-client.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const isRefused = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(false);
    }).once('error', () => resolve(true));
  });

const INITIALIZE = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

/** Sends a request on a new connection. Returns promises of the connection and of the answer's status. */
function initialize(url: string): { connected: Promise<unknown>; status: Promise<number | undefined> } {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const asked = request(url, { method: 'POST', agent: false, headers });
  const connected = once(asked, 'socket').then(([socket]) => once(socket as Socket, 'connect'));
  const status = once(asked, 'response').then(([response]) => (response as IncomingMessage).resume().statusCode);
  asked.end(INITIALIZE);
  return { connected, status };
}

describe('the end of the runtime', () => {
  it.each([
    ['short', 500, 0],
    // A slow or distant client uses its connection again only after seconds.
    ['long', 25_000, 2_500],
  ])('answers a client once more on its idle connection, with Connection: close: %s time', async (_, drain, idle) => {
    const gateway = await gatewayTo({}, {}, { drain });
    const client = await SessionClient.open(gateway.url);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ping = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const asked = request(gateway.url, {
          ...{ method: 'POST', agent },
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...client.headers,
          },
        });
        asked.on('response', (response) => response.resume().once('end', () => resolve(response)));
        asked.on('error', reject).end(client.message('ping'));
      });
    expect((await ping()).headers.connection).toBe('keep-alive');
    const stopped = gateway.runtime.stop();
    await sleep(idle);
    const last = await ping();
    expect([last.statusCode, last.headers.connection]).toEqual([200, 'close']);
    await stopped;
    agent.destroy();
  });

  it('lets running calls finish, refuses new connections, and ends streams', async () => {
    const slow = closing(await serveMisbehaving('slow', { tools: 1, delayMs: 300 }));
    const gateway = await gatewayTo({ a: slow.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const stream = await client.stream();
    const { body, headers } = modernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const subscription = await openStream(gateway.url, headers, body);
    await subscription.waitFor(({ method }) => method?.endsWith('acknowledged') ?? false);
    const call = client.call('a_tool_0', { text: 'x' });
    // The call, the stream and the subscription.
    await until('the call', () => gateway.runtime.gateway.services.running.size === 3);
    const started = performance.now();
    const stopped = gateway.runtime.stop();
    await until('refusals', () => isRefused(gateway.runtime.address.port));
    expect((await call).answer.result).toBeDefined();
    // A result ends a subscription.
    expect(await subscription.waitFor(({ result }) => result !== undefined)).toMatchObject({
      id: 1,
      result: { resultType: 'complete' },
    });
    await stopped;
    expect(performance.now() - started).toBeLessThan(15_000);
    stream.close();
  });

  it('serves connections opened while the process was paused, although SIGTERM came before it accepted them', async () => {
    const gateway = await startGateway(configTo({}));
    closing({ close: () => gateway.stop() });
    process.kill(gateway.pid, 'SIGSTOP');
    const asked = Array.from({ length: 20 }, () => initialize(gateway.url));
    await Promise.all(asked.map(({ connected }) => connected));
    process.kill(gateway.pid, 'SIGTERM');
    process.kill(gateway.pid, 'SIGCONT');
    expect(await Promise.all(asked.map(({ status }) => status))).toEqual(Array(20).fill(200));
    expect(await gateway.ended).toBe(0);
  });

  it('comes once, and a second stop waits for it', async () => {
    const slow = closing(await serveMisbehaving('slow', { tools: 1, delayMs: 300 }));
    const gateway = await gatewayTo({ a: slow.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    let answered = false;
    const call = client.call('a_tool_0', { text: 'x' }).then((reply) => {
      answered = true;
      return reply;
    });
    await until('the call', () => gateway.runtime.gateway.services.running.size === 1);
    const first = gateway.runtime.stop();
    await gateway.runtime.stop();
    expect(answered).toBe(true);
    expect((await call).answer.result).toBeDefined();
    await first;
  });

  it('sends the whole answer to a slow client', async () => {
    const bytes = 12_000_000;
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('tools/call')) return false;
          const { id } = JSON.parse(body) as { id: number };
          const answer = { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'x'.repeat(bytes) }] } };
          response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(answer)}\n\n`);
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url }, {}, { drain: 25_000 });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    let startReading: (() => void) | undefined;
    const read = new Promise<number>((resolve, reject) => {
      const asked = request(
        gateway.url,
        { method: 'POST', headers: { 'content-type': 'application/json', ...client.headers } },
        (response) => {
          response.pause();
          startReading = () => {
            let size = 0;
            response.on('data', (chunk: Buffer) => (size += chunk.length));
            response.on('end', () => resolve(size));
            response.on('error', reject);
            response.resume();
          };
        },
      );
      asked.on('error', reject);
      asked.end(client.message('tools/call', { name: 'a_tool_0' }));
    });
    await until('the beginning of the answer', () => startReading !== undefined);
    const stopped = gateway.runtime.stop();
    await sleep(100);
    startReading?.();
    await stopped;
    expect(await read).toBeGreaterThan(bytes);
  });

  it('cuts off a call that exceeds the drain time', async () => {
    const hanging = closing(await serveMisbehaving('hang', { tools: 1 }));
    const gateway = await gatewayTo({ a: hanging.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const call = client.call('a_tool_0', { text: 'x' }).catch((error: unknown) => error);
    await until('the call', () => gateway.runtime.gateway.services.running.size === 1);
    const started = performance.now();
    await gateway.runtime.stop();
    // serve-gateway gives 500 ms.
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(String(await call)).toMatch(/socket hang up|ECONNRESET/);
    expect(gateway.log()).toContain('calls were cut off at the end');
  });
});
