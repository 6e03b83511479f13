import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterAll, describe, expect, it } from '@jest/globals';
import { SessionClient } from '../gateway/session-client.ts';
import { startGateway, type Gateway, type GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { sdkServerCommand } from '../sdk-servers/start-sdk-server.ts';

const MEBIBYTE = 1_048_576;
const LIMIT = 16 * MEBIBYTE;
const SIZE = 24 * MEBIBYTE;

/** A process that begins a large answer to each call, then writes one byte a second and never ends the line. */
const NEVER_ENDING = `
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    if (method === 'initialize') {
      const { protocolVersion } = params;
      say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } });
    } else if (method === 'tools/list') {
      say({ id, result: { tools: [{ name: 'endless', inputSchema: { type: 'object' } }] } });
    } else if (method === 'tools/call') {
      process.stdout.write('{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"' + 'x'.repeat(${SIZE}));
      setInterval(() => process.stdout.write('x'), 1000);
    } else say({ id, result: {} });
  });`;

type Backend = GatewayConfig['backends'][number];
const BACKENDS: Backend[] = [
  { name: 'good', transport: 'stdio', ...sdkServerCommand('new') },
  { name: 'other', transport: 'stdio', ...sdkServerCommand('old') },
  {
    name: 'hostile',
    transport: 'stdio',
    stdio_process: 'perSession',
    command: process.execPath,
    args: ['-e', NEVER_ENDING],
  },
];

const open: { close(): unknown }[] = [];
afterAll(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function start(names: readonly string[]): Promise<{ gateway: Gateway; client: SessionClient }> {
  const gateway = await startGateway({
    incoming: { type: 'anonymous' },
    backends: BACKENDS.filter(({ name }) => names.includes(name)),
    limits: { buffered_bytes: LIMIT },
  });
  open.push({ close: () => gateway.stop() });
  const client = await SessionClient.open(gateway.url);
  await until('the tools of all backends', async () => {
    const tools = await client.toolNames();
    return names.every((name) => tools.some((tool) => tool.startsWith(`${name}_`)));
  });
  return { gateway, client };
}

async function buffered({ privateUrl }: Gateway): Promise<{ bytes: number; waiting: number }> {
  const response = await fetch(`${privateUrl}/status`);
  return ((await response.json()) as { buffered: { bytes: number; waiting: number } }).buffered;
}

/** Sends a call. Returns its answer with an unread body. */
function openCall(client: SessionClient, name: string, args: object): Promise<IncomingMessage> {
  const { url, headers } = client;
  const body = client.message('tools/call', { name, arguments: args });
  const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      { method: 'POST', headers: { ...accept, ...headers }, agent: false },
      (response) => {
        response.on('error', () => undefined);
        open.push({ close: () => response.destroy() });
        resolve(response);
      },
    );
    request.on('error', reject).end(body);
  });
}

/** Verifies that a call of another backend, whose result is buffered as well, returns the whole result. */
async function expectServed(gateway: Gateway, client: SessionClient): Promise<void> {
  const held = openCall(client, 'good_big', { bytes: SIZE });
  await until('the call to wait', async () => (await buffered(gateway)).waiting === 1);
  let bytes = 0;
  for await (const chunk of (await held) as AsyncIterable<Buffer>) bytes += chunk.length;
  expect(bytes).toBeGreaterThan(SIZE);
}

describe('the memory for large messages', () => {
  it.concurrent(
    'becomes free for other calls if a process never ends its message',
    async () => {
      const { gateway, client } = await start(['good', 'hostile']);
      openCall(client, 'hostile_endless', {}).catch(() => undefined);
      await until('memory that is used up', async () => (await buffered(gateway)).bytes > LIMIT);
      await expectServed(gateway, client);
      await until('the memory to be given back', async () => (await buffered(gateway)).bytes === 0);
    },
    240_000,
  );

  it.concurrent(
    'becomes free for other calls if a client reads its answer byte by byte',
    async () => {
      const { gateway, client } = await start(['good', 'other']);
      const slow = await openCall(await SessionClient.open(gateway.url), 'other_big', { bytes: 2 * SIZE });
      const trickle = setInterval(() => void slow.read(65_536), 1_000);
      open.push({ close: () => clearInterval(trickle) });
      await until('memory that is used up', async () => (await buffered(gateway)).bytes > LIMIT);
      await expectServed(gateway, client);
      expect(slow.complete).toBe(false);
    },
    240_000,
  );
});
