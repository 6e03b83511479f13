import { request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { peakBytes, resetPeak, residentBytes } from '../bench/cpu-time.ts';
import { modernRequest, SessionClient } from '../gateway/session-client.ts';
import { startGateway, type Gateway } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';

const MEBIBYTE = 1_048_576;
const SIZE = 20 * MEBIBYTE;
const LIMIT = 16 * MEBIBYTE;
const UNREAD = 8;

/** Backends that speak one revision, with JSON answers and with events. */
const BACKENDS = ['older_json', 'older_events', 'newer_json', 'newer_events'] as const;

let gateway: Gateway;

beforeAll(async () => {
  const start = async (name: (typeof BACKENDS)[number]) => {
    const json = name.endsWith('json');
    const server = await startSdkServer(name.startsWith('older') ? 'old' : 'new', {
      json,
      modernOnly: name.startsWith('newer'),
    });
    closing({ close: () => server.stop() });
    return { name, transport: 'streamable-http' as const, url: server.url };
  };
  const backends = await Promise.all(BACKENDS.map(start));
  gateway = await startGateway({ incoming: { type: 'anonymous' }, backends, limits: { buffered_bytes: LIMIT } });
  closing({ close: () => gateway.stop() });
  const client = await SessionClient.open(gateway.url);
  await until('the tools of all backends', async () => {
    const tools = await client.toolNames();
    return BACKENDS.every((name) => tools.includes(`${name}_big`));
  });
}, 120_000);

afterAll(closeAll);

const connect = (backend: string) => {
  const url = new URL(gateway.url);
  return backend.startsWith('older') ? connectNewClient(url, { revision: '2026-07-28' }) : connectOldClient(url);
};

const buffered = async () =>
  ((await (await fetch(`${gateway.privateUrl}/status`)).json()) as { buffered: { bytes: number; waiting: number } })
    .buffered;

async function countBytes(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) bytes += chunk.length;
  return bytes;
}

/** Sends a call, and leaves its answer unread. */
function openCall(headers: Record<string, string>, body: string): Promise<IncomingMessage> {
  const sent = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
  return new Promise((resolve, reject) => {
    const request = httpRequest(gateway.url, { method: 'POST', headers: sent, agent: false }, resolve);
    request.on('error', reject).end(body);
  });
}

/** Returns a function that opens a call of `big` as a client of the other revision. */
async function opener(backend: string): Promise<() => Promise<IncomingMessage>> {
  const name = `${backend}_big`;
  const params = { name, arguments: { bytes: SIZE } };
  if (backend.startsWith('older')) {
    const { body, headers } = modernRequest('tools/call', params);
    return () => openCall(headers, body);
  }
  const session = await SessionClient.open(gateway.url);
  return () => openCall(session.headers, session.message('tools/call', params));
}

describe.each(BACKENDS)('a large answer of the backend %s through its bridge', (backend) => {
  it('reaches an SDK client whole, in less than seven times its size', async () => {
    const client = await connect(backend);
    const call = { name: `${backend}_big`, arguments: { bytes: SIZE } };
    const before = residentBytes(gateway.pid);
    resetPeak(gateway.pid);
    const { content } = (await client.callTool(call, undefined)) as { content: { text: string }[] };
    expect(content[0]?.text.length).toBe(SIZE);
    expect(peakBytes(gateway.pid) - before).toBeLessThan(7 * SIZE);
    await client.close();
  }, 120_000);

  it('counts as buffered until its client has read it, and further answers wait', async () => {
    const open = await opener(backend);
    const calls: Promise<IncomingMessage>[] = [];
    let opened = 0;
    for (let count = 0; count < UNREAD; count += 1)
      calls.push(
        open().finally(() => {
          opened += 1;
        }),
      );
    let last = 0;
    await until('answers that wait, and no byte to come any more', async () => {
      await sleep(1_000);
      const { bytes, waiting } = await buffered();
      const isStill = opened === UNREAD || (opened > 0 && waiting > 0 && bytes > LIMIT && bytes === last);
      last = bytes;
      return isStill;
    });
    expect(opened).toBeLessThan(UNREAD);
    const sizes = await Promise.all(calls.map(async (call) => countBytes(await call)));
    for (const size of sizes) expect(size).toBeGreaterThan(SIZE);
    await until('the end of the count', async () => (await buffered()).bytes === 0);
  }, 120_000);
});
