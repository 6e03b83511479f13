import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { describeWithRedis } from './redis-programs.ts';
import { replicaOf, sharedIn } from './replicas.ts';
import { startRedis } from './start-redis.ts';

afterEach(closeAll);

const PATIENT = { dial_timeout: '60s', read_timeout: '60s', write_timeout: '60s' };

/** Returns whether a program listens on the port. */
async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    return await once(socket, 'connect').then(
      () => true,
      () => false,
    );
  } finally {
    socket.destroy();
  }
}

/** Sends a message. Returns when the server has read its head, because it then answers `Expect: 100-continue`. */
async function ask(
  port: number,
  message: object,
): Promise<{ answer: Promise<{ status: number | undefined; text: string }> }> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    expect: '100-continue',
  };
  const asked = request({ host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers, agent: false });
  const answer = once(asked, 'response').then(async ([response]: IncomingMessage[]) => ({
    status: response?.statusCode,
    text: response ? await text(response) : '',
  }));
  asked.flushHeaders();
  await once(asked, 'continue');
  asked.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }));
  return { answer };
}

describeWithRedis('a starting process', () => {
  it('holds requests that arrive early, and serves them when it is ready', async () => {
    const redis = await startRedis();
    closing({ close: () => redis.stop() });
    const backend = closing(await servePlain({ tools: 1 }));
    const port = await findFreePort();
    // The process asks its Redis before it serves. This Redis does not answer yet.
    redis.freeze();
    let hasStarted = false;
    const starting = replicaOf(
      sharedIn({ addr: redis.address, ...PATIENT }),
      { a: backend.url },
      { listen: { port, private_port: 0 } },
    ).finally(() => (hasStarted = true));
    await until('the port', () => listens(port));
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const initialize = { method: 'initialize', params };
    const waiting = [await ask(port, initialize), await ask(port, initialize)];
    expect(hasStarted).toBe(false);
    redis.thaw();
    await starting;
    for (const { answer } of waiting)
      expect(await answer).toEqual({ status: 200, text: expect.stringContaining('serverInfo') });
  }, 60_000);
});
