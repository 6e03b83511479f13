import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../gateway/until.ts';
import {
  ANSWERS,
  connectNewClient,
  connectOldClient,
  type ClientOptions,
  type ServerAddress,
} from './connect-sdk-client.ts';
import { PYTHON_INSTALLED } from './python-sdk.ts';
import { sdkServerCommand, startSdkServer, type Sdk } from './start-sdk-server.ts';
import type { ToolCount } from './tool-counts.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Options = Parameters<typeof startSdkServer>[1];

/** Starts a server, or names the command of one that speaks stdio. */
async function serve(sdk: Sdk, options: Options | 'stdio'): Promise<ServerAddress> {
  if (options === 'stdio') return sdkServerCommand(sdk);
  const server = await startSdkServer(sdk, options);
  closers.push(server.stop);
  return new URL(server.url);
}

async function connect(
  to: ServerAddress,
  client: 'old' | 'new',
  options: ClientOptions & { revision?: '2026-07-28' } = {},
) {
  const connected = client === 'old' ? await connectOldClient(to, options) : await connectNewClient(to, options);
  closers.push(() => connected.close());
  return {
    connected,
    call: async (name: string, args: Record<string, unknown> = {}) => {
      const { content, ...rest } = await connected.callTool({ name, arguments: args });
      const [first] = Array.isArray(content) ? (content as { text: string }[]) : [];
      return { text: first?.text, ...rest };
    },
  };
}

type Case = [name: string, sdk: Sdk, options: Options | 'stdio'];

const TYPESCRIPT_SERVERS: Case[] = [
  ['1.x over streamable HTTP', 'old', { transport: 'http' }],
  ['1.x over streamable HTTP with JSON answers', 'old', { json: true }],
  ['1.x over streamable HTTP with an event store', 'old', { eventStore: true }],
  ['1.x over SSE', 'old', { transport: 'sse' }],
  ['1.x over stdio', 'old', 'stdio'],
  ['2.x over streamable HTTP', 'new', { transport: 'http' }],
  ['2.x over streamable HTTP with an event store', 'new', { eventStore: true }],
  ['2.x over stdio', 'new', 'stdio'],
];
const PYTHON_SERVERS: Case[] = [
  ['for Python over streamable HTTP', 'python', { transport: 'http' }],
  ['for Python over SSE', 'python', { transport: 'sse' }],
  ['for Python over stdio', 'python', 'stdio'],
];
// install-python.ts installs the Python SDK.
const describePython = existsSync(PYTHON_INSTALLED) ? describe : describe.skip;
const transportOf = (options: Options | 'stdio'): 'http' | 'sse' =>
  typeof options === 'object' && options.transport === 'sse' ? 'sse' : 'http';

function itAnswers(_name: string, sdk: Sdk, options: Options | 'stdio'): void {
  it.each(['old', 'new'] as const)('answers the %s client', async (client) => {
    const { connected, call } = await connect(await serve(sdk, options), client, { transport: transportOf(options) });
    const { tools } = await connected.listTools();
    expect(tools).toHaveLength(12);
    expect(await call('echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
    expect((await call('big', { bytes: 100_000 })).text).toHaveLength(100_000);
    expect(await call('fail')).toMatchObject({ isError: true });
    expect(JSON.parse((await call('count')).text ?? '')).toMatchObject({
      echo: { begun: 1, ended: 1, aborted: 0 },
    });
    expect(await connected.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).toMatchObject({ messages: [{}] });
    expect((await connected.listResources()).resources).toHaveLength(2);
    expect(await connected.readResource({ uri: 'sdk://items/7' })).toMatchObject({ contents: [{ text: 'item 7' }] });
  });
}

function itAsks(_name: string, sdk: Sdk, options: Options | 'stdio'): void {
  it.each(['call', 'session'] as const)('asks the client on the stream of the %s', async (stream) => {
    const lines: unknown[] = [];
    const client = { transport: transportOf(options), answers: ANSWERS, onLog: (data: unknown) => lines.push(data) };
    const { call } = await connect(await serve(sdk, options), 'old', client);
    // The GET stream opens after `initialize` is answered: a notification before that is lost.
    await until('a log line', async () => {
      await call('log', { lines: 1, every: 0, stream });
      return lines.length > 0;
    });
    expect((await call('elicit', { stream })).text).toContain('Ada');
    expect((await call('sample', { stream })).text).toContain('word');
    expect((await call('roots', { stream })).text).toContain('file:///work');
  });
}

const asks = ([, , options]: Case) => options === 'stdio' || options?.json !== true;

describe.each(TYPESCRIPT_SERVERS)('server of the SDK %s', itAnswers);
describe.each(TYPESCRIPT_SERVERS.filter(asks))('server of the SDK %s', itAsks);
describePython.each(PYTHON_SERVERS)('server of the SDK %s', itAnswers);
describePython.each(PYTHON_SERVERS)('server of the SDK %s', itAsks);

describe('server of the SDK 2.x for 2026-07-28', () => {
  it('answers, and asks for input by input_required', async () => {
    const { call } = await connect(await serve('new', {}), 'new', { revision: '2026-07-28', answers: ANSWERS });
    expect(await call('echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
    expect((await call('elicit')).text).toContain('Ada');
  });
});

describe('startSdkServer', () => {
  it('starts a killed server again on its port', async () => {
    const first = await startSdkServer('old');
    await first.kill();
    expect(first.exited()).toBe(true);
    const { call } = await connect(await serve('old', { port: first.port }), 'new');
    expect(await call('echo', { text: 'again' })).toMatchObject({ text: 'again' });
  });

  it.each(['old', 'new'] as const)('counts the cancelled calls that the %s server executes', async (sdk) => {
    const { connected, call } = await connect(await serve(sdk, {}), 'old');
    const countOf = async (name: string) =>
      (JSON.parse((await call('count')).text ?? '') as Record<string, ToolCount>)[name];
    for (const name of ['slow', 'patient']) {
      const cancel = new AbortController();
      const params = { name, arguments: { ms: name === 'slow' ? 3_000 : 600_000 } };
      const called = connected.callTool(params, undefined, { signal: cancel.signal });
      await until(`the start of ${name}`, async () => (await countOf(name))?.begun === 1);
      cancel.abort();
      await expect(called).rejects.toThrow();
    }
    for (const name of ['slow', 'patient']) {
      await until(`the end of ${name}`, async () => (await countOf(name))?.ended === 1);
      expect(await countOf(name)).toEqual({ begun: 1, ended: 1, aborted: 1 });
    }
  });
});
