import { createHash } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { peakBytes, resetPeak, residentBytes } from '../bench/cpu-time.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { startGateway, type Gateway, type GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, startSdkServer, type SdkServer } from '../sdk-servers/start-sdk-server.ts';
import { cutCalls } from './cut-calls.ts';

const MEBIBYTE = 1_048_576;
const SIZE = 50 * MEBIBYTE;
const LONG = { timeout: 240_000 };

type Backend = GatewayConfig['backends'][number];

/** Each transport of a result from an SDK server. */
const WAYS = ['events', 'json', 'stdio', 'sse'] as const;
type Way = (typeof WAYS)[number];

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
const wanted = hash('x'.repeat(SIZE));

const servers: SdkServer[] = [];
const backends: Backend[] = [];

beforeAll(async () => {
  const events = await startSdkServer('old', { eventStore: true });
  const json = await startSdkServer('new', { json: true });
  const sse = await startSdkServer('old', { transport: 'sse' });
  servers.push(events, json, sse);
  backends.push(
    { name: 'events', transport: 'streamable-http', url: events.url },
    { name: 'json', transport: 'streamable-http', url: json.url },
    { name: 'sse', transport: 'sse', url: sse.url },
    { name: 'stdio', transport: 'stdio', ...sdkServerCommand('new') },
    { name: 'other', transport: 'stdio', ...sdkServerCommand('old') },
  );
}, 120_000);

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
});

const gateways: Gateway[] = [];
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.stop()));
});

async function start(names: readonly string[], more: Partial<GatewayConfig> = {}): Promise<Gateway> {
  const chosen = backends.filter(({ name }) => names.includes(name));
  const gateway = await startGateway({ incoming: { type: 'anonymous' }, backends: chosen, ...more });
  gateways.push(gateway);
  const client = await SessionClient.open(gateway.url);
  await until('the tools of all backends', async () => {
    const tools = await client.toolNames();
    return names.every((name) => tools.includes(`${name}_big`));
  });
  return gateway;
}

interface Caller {
  callTool(call: { name: string; arguments: object }, schema?: undefined, options?: object): Promise<unknown>;
  close(): Promise<void>;
}

async function callBig(client: Caller, backend: string, bytes = SIZE): Promise<string> {
  const call = { name: `${backend}_big`, arguments: { bytes } };
  const result = await client.callTool(call, undefined, LONG);
  const [content] = (result as { content: { text: string }[] }).content;
  return hash(content?.text ?? '');
}

describe('a result of 50 MiB', () => {
  it.each(WAYS)(
    'from a backend over %s reaches SDK clients whole, in less than three times its size',
    async (way: Way) => {
      const gateway = await start([way]);
      const connectors = { old: connectOldClient, new: connectNewClient };
      for (const connect of Object.values(connectors)) {
        const client = (await connect(new URL(gateway.url))) as Caller;
        const before = residentBytes(gateway.pid);
        resetPeak(gateway.pid);
        expect(await callBig(client, way)).toBe(wanted);
        expect(peakBytes(gateway.pid) - before).toBeLessThan(3 * SIZE);
        await client.close();
      }
    },
    240_000,
  );

  it('reaches SDK clients whole from a resumed call, in less than three times its size', async () => {
    const gateway = await start(['events']);
    for (const connect of [connectOldClient, connectNewClient]) {
      const { fetch, resumed } = cutCalls();
      const client = (await connect(new URL(gateway.url), { fetch })) as Caller;
      const before = residentBytes(gateway.pid);
      resetPeak(gateway.pid);
      expect(await callBig(client, 'events')).toBe(wanted);
      expect(resumed()).toBe(1);
      expect(peakBytes(gateway.pid) - before).toBeLessThan(3 * SIZE);
      await client.close();
    }
  }, 240_000);

  it('reaches a client of the transport of 2024-11-05 whole, in less than three times its size', async () => {
    const served = await start([], { backends: backends.slice(0, 2), proxy_mode: 'sse' });
    const client = (await connectOldClient(new URL(served.url.replace(/mcp$/, 'sse')), { transport: 'sse' })) as Caller;
    for (const way of ['events', 'json']) {
      const before = residentBytes(served.pid);
      resetPeak(served.pid);
      expect(await callBig(client, way)).toBe(wanted);
      expect(peakBytes(served.pid) - before).toBeLessThan(3 * SIZE);
    }
    const five = await Promise.all(Array.from({ length: 5 }, () => callBig(client, 'json')));
    expect(five).toEqual(Array.from({ length: 5 }, () => wanted));
    await client.close();
  }, 240_000);

  it.each(WAYS)(
    'arrives whole five times at once over %s, with any memory limit',
    async (way: Way) => {
      const gateway = await start([way], { limits: { buffered_bytes: 16 * MEBIBYTE } });
      const clients = await Promise.all(Array.from({ length: 5 }, () => connectOldClient(new URL(gateway.url))));
      const before = residentBytes(gateway.pid);
      resetPeak(gateway.pid);
      const hashes = await Promise.all(clients.map((client) => callBig(client as Caller, way)));
      expect(hashes).toEqual(clients.map(() => wanted));
      expect(peakBytes(gateway.pid) - before).toBeLessThan(3 * SIZE);
      await Promise.all(clients.map((client) => client.close()));
    },
    240_000,
  );
});

interface Buffered {
  bytes: number;
  limit_bytes: number;
  waiting: number;
}

async function buffered({ privateUrl }: Gateway): Promise<Buffered> {
  const response = await fetch(`${privateUrl}/status`);
  return ((await response.json()) as { buffered: Buffered }).buffered;
}

/** Sends a call, and leaves its answer unread. */
function openCall(gateway: Gateway, client: SessionClient, backend: string): Promise<IncomingMessage> {
  const body = client.message('tools/call', { name: `${backend}_big`, arguments: { bytes: SIZE } });
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...client.headers,
  };
  return new Promise((resolve, reject) => {
    httpRequest(gateway.url, { method: 'POST', headers, agent: false }, resolve).on('error', reject).end(body);
  });
}

async function countBytes(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) bytes += chunk.length;
  return bytes;
}

describe('the memory for results', () => {
  it.each([16, 60])(
    'bounds the buffered bytes of unread results over SSE by %i MiB',
    async (mebibytes) => {
      const limit = mebibytes * MEBIBYTE;
      const gateway = await start(['sse'], {
        limits: { buffered_bytes: limit },
        operational: { timeouts: { default: '10m' } },
      });
      const sessions = await Promise.all(Array.from({ length: 5 }, () => SessionClient.open(gateway.url)));
      for (const session of sessions) openCall(gateway, session, 'sse').catch(() => undefined);
      let most: Buffered = { bytes: 0, limit_bytes: 0, waiting: 0 };
      let last = most;
      await until('calls to wait, and no byte to come any more', async () => {
        const now = await buffered(gateway);
        const isStill = now.waiting > 0 && now.bytes === last.bytes;
        if (now.bytes > most.bytes) most = now;
        last = now;
        await sleep(500);
        return isStill;
      });
      expect(most.limit_bytes).toBe(limit);
      expect(most.bytes).toBeGreaterThan(limit);
      // The limit applies to readers. Clients take the same again and one result. All five results would exceed that.
      expect(most.bytes).toBeLessThan(2 * limit + SIZE + 8 * MEBIBYTE);
    },
    240_000,
  );

  it.each(['stdio', 'sse'])(
    'makes calls over %s wait, pauses their deadlines, and reports it',
    async (way) => {
      const LIMIT = 16 * MEBIBYTE;
      const gateway = await start(['other', way], {
        limits: { buffered_bytes: LIMIT },
        operational: { timeouts: { default: '120s', per_workload: { [way]: '4s' } } },
      });
      const session = await SessionClient.open(gateway.url);
      const unread = await openCall(gateway, session, 'other');
      await until('memory that is used up', async () => (await buffered(gateway)).bytes > LIMIT);
      const client = (await connectOldClient(new URL(gateway.url))) as Caller;
      let isOver = false;
      const held = callBig(client, way).finally(() => {
        isOver = true;
      });
      await until('the call to wait', async () => (await buffered(gateway)).waiting === 1);
      // Longer than the deadline of the waiting call.
      await sleep(6_000);
      expect(isOver).toBe(false);
      expect(await buffered(gateway)).toMatchObject({ waiting: 1, limit_bytes: LIMIT });
      const metrics = await (await fetch(`${gateway.privateUrl}/metrics`)).text();
      expect(metrics).toMatch(/^vmcp_buffered_waiting\S* 1$/m);
      expect(await countBytes(unread)).toBeGreaterThan(SIZE);
      expect(await held).toBe(wanted);
      await until('the memory to be given back', async () => (await buffered(gateway)).bytes === 0);
      await client.close();
    },
    240_000,
  );
});
