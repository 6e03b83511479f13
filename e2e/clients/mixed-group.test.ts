import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createMCPClient } from '@ai-sdk/mcp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { publishedServer } from '../bridges/published-server.ts';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { send } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { PYTHON_INSTALLED } from '../sdk-servers/python-sdk.ts';
import { sdkServerCommand, startSdkServer, type SdkServer } from '../sdk-servers/start-sdk-server.ts';
import { npmProgram, openDesk } from './desk.ts';

type Name = 'old' | 'new' | 'modern';

/** `old` speaks only 2025-11-25, `modern` only 2026-07-28, `new` both. Their tools have the same names. */
let servers: Record<Name, SdkServer>;
/** A gateway to `PROGRAMS`. */
let programs: ServedGateway;

const hasPython = existsSync(PYTHON_INSTALLED);
const MODERN_MAIN = join(import.meta.dirname, '..', 'bridges', 'modern-stdio-main.ts');
/** Published servers of older revisions, one of the Python SDK, and a program that speaks only 2026-07-28. */
const PROGRAMS: GatewayConfig['backends'] = [
  publishedServer('everything'),
  publishedServer('filesystem', import.meta.dirname),
  publishedServer('memory'),
  { name: 'program', transport: 'stdio', command: process.execPath, args: [MODERN_MAIN] },
  ...(hasPython ? [{ name: 'python', transport: 'stdio' as const, ...sdkServerCommand('python') }] : []),
];

beforeAll(async () => {
  const [old, both, modern] = await Promise.all([
    startSdkServer('old'),
    startSdkServer('new'),
    startSdkServer('new', { modernOnly: true }),
  ]);
  servers = { old, new: both, modern };
  programs = await serveGateway({ incoming: { type: 'anonymous' }, backends: PROGRAMS });
}, 120_000);
afterAll(() => Promise.all([...Object.values(servers).map((server) => server.stop()), programs.close()]));
afterEach(closeAll);

async function start(names: readonly Name[]): Promise<ServedGateway> {
  const gateway = await gatewayTo(Object.fromEntries(names.map((name) => [name, servers[name].url])));
  const ready = async () => {
    const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
    return text.match(/"phase":"ready"/gi)?.length === names.length;
  };
  await until('all backends ready', ready);
  return gateway;
}

/** Returns the backends: the first part of each tool name. */
const backendsOf = (tools: readonly { readonly name: string }[]) =>
  [...new Set(tools.map(({ name }) => name.split('_')[0] ?? ''))].sort();

interface Seen {
  readonly backends: readonly string[];
  /** JSON text of the result of each call. */
  readonly answers: readonly string[];
  readonly revision?: string | undefined;
}

interface Call {
  readonly name: string;
  readonly arguments: Record<string, string>;
}

/** One call of each backend that speaks only one revision. */
const CALLS: readonly Call[] = [
  { name: 'modern_echo', arguments: { text: 'hi modern' } },
  { name: 'old_echo', arguments: { text: 'hi old' } },
];

const PROGRAM_CALLS: readonly Call[] = [
  { name: 'everything_echo', arguments: { message: 'hi everything' } },
  { name: 'filesystem_list_allowed_directories', arguments: {} },
  { name: 'memory_read_graph', arguments: {} },
  { name: 'program_echo', arguments: { text: 'hi program' } },
  ...(hasPython ? [{ name: 'python_echo', arguments: { text: 'hi python' } }] : []),
];
const PROGRAM_ANSWERS = [
  'hi everything',
  import.meta.dirname,
  'entities',
  'hi program',
  ...(hasPython ? ['hi python'] : []),
];

/** Sends the calls one after the other. Returns the JSON text of each result. */
async function answersTo(calls: readonly Call[], send: (call: Call) => Promise<unknown>): Promise<string[]> {
  const answers: string[] = [];
  for (const call of calls) answers.push(JSON.stringify(await send(call).catch(String)));
  return answers;
}

const PIN = { pin: '2026-07-28' } as const;
type Mode = 'auto' | 'legacy' | { pin: '2026-07-28' };

async function connectSdk(url: string, mode: Mode, calls: readonly Call[] = []): Promise<Seen> {
  const client = new Client({ name: 'new', version: '1' }, { versionNegotiation: { mode } });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const { tools } = await client.listTools();
    return {
      backends: backendsOf(tools),
      answers: await answersTo(calls, (call) => client.callTool(call)),
      revision: client.getNegotiatedProtocolVersion(),
    };
  } finally {
    await client.close();
  }
}

async function inspect(url: string, era: string, calls: readonly Call[] = []): Promise<Seen> {
  const desk = closing(await openDesk('nobody'));
  const target = ['--cli', url, '--transport', 'http', '--protocol-era', era, '--format', 'json'];
  const run = (method: string, ...args: string[]) =>
    desk.run([...npmProgram('mcp-inspector'), ...target, '--method', method, ...args]);
  const listed = await run('tools/list');
  if (listed.code !== 0) throw new Error(`${listed.stdout} ${listed.stderr}`);
  const { result } = JSON.parse(listed.stdout) as { result: { tools: { name: string }[] } };
  const answers = await answersTo(calls, async ({ name, arguments: args }) => {
    const words = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`]);
    return (await run('tools/call', '--tool-name', name, ...words)).stdout;
  });
  return { backends: backendsOf(result.tools), answers };
}

/** Clients with their defaults, or with the setting in their name. */
const clients: Readonly<Record<string, (url: string, calls: readonly Call[]) => Promise<Seen>>> = {
  async 'the SDK client of the 1.x line'(url, calls) {
    const client = await connectOldClient(new URL(url));
    const { tools } = await client.listTools();
    const answers = await answersTo(calls, (call) => client.callTool(call));
    await client.close();
    return { backends: backendsOf(tools), answers };
  },
  'the SDK client of the 2.x line': (url, calls) => connectSdk(url, 'legacy', calls),
  'the SDK client of the 2.x line in mode auto': (url, calls) => connectSdk(url, 'auto', calls),
  'the SDK client of the 2.x line with 2026-07-28 alone': (url, calls) => connectSdk(url, PIN, calls),
  async '@ai-sdk/mcp'(url, calls) {
    const client = await createMCPClient({ transport: { type: 'http', url } });
    try {
      const tools = await client.tools();
      const options = { toolCallId: '1', messages: [], context: {} };
      const answers = await answersTo(calls, async ({ name, arguments: args }) => tools[name]?.execute(args, options));
      return { backends: backendsOf(Object.keys(tools).map((name) => ({ name }))), answers };
    } finally {
      await client.close();
    }
  },
  'the MCP Inspector': (url, calls) => inspect(url, 'legacy', calls),
  'the MCP Inspector with --protocol-era auto': (url, calls) => inspect(url, 'auto', calls),
  'the MCP Inspector with --protocol-era modern': (url, calls) => inspect(url, 'modern', calls),
  async 'mcp-remote'(url, calls) {
    const desk = closing(await openDesk('nobody'));
    const client = desk.start([...npmProgram('mcp-remote'), url, '--transport', 'http-only']);
    const clientInfo = { name: 'desk', version: '1' };
    await client.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    client.notify('notifications/initialized');
    const { result, error } = await client.request('tools/list', {});
    const answers = await answersTo(calls, (call) => client.request('tools/call', { ...call }));
    await client.stop();
    if (result === undefined) throw new Error(JSON.stringify(error));
    return { backends: backendsOf(result.tools as { name: string }[]), answers };
  },
};

describe.each(Object.keys(clients))('%s', (name) => {
  const connect = clients[name]!;

  it('connects to a group of backends with different revisions, and lists and calls the tools of all', async () => {
    const { backends, answers } = await connect((await start(['old', 'new', 'modern'])).url, CALLS);
    expect(backends).toEqual(['modern', 'new', 'old']);
    expect(answers).toEqual([expect.stringContaining('hi modern'), expect.stringContaining('hi old')]);
  });

  it('uses published servers, and a program of 2026-07-28 alone', async () => {
    const { backends, answers } = await connect(programs.url, PROGRAM_CALLS);
    expect(backends).toEqual(PROGRAMS.map(({ name }) => name));
    expect(answers).toEqual(PROGRAM_ANSWERS.map((text) => expect.stringContaining(text) as unknown));
  }, 120_000);

  it('connects to a group of backends with both revisions', async () => {
    expect((await connect((await start(['new'])).url, [])).backends).toEqual(['new']);
  });
});

describe('a client that speaks only 2026-07-28', () => {
  it('connects to a group if all its backends speak that revision', async () => {
    const { url } = await start(['new']);
    expect(await connectSdk(url, PIN)).toMatchObject({ backends: ['new'], revision: '2026-07-28' });
    expect((await inspect(url, 'modern')).backends).toEqual(['new']);
  });

  it('connects to a group with a backend of older revisions, and lists the tools of all backends', async () => {
    const { url } = await start(['old', 'new']);
    expect(await connectSdk(url, PIN)).toMatchObject({ backends: ['new', 'old'], revision: '2026-07-28' });
    expect((await inspect(url, 'modern')).backends).toEqual(['new', 'old']);
  });

  it('lists the tools of all backends without server/discover', async () => {
    const { url } = await start(['new']);
    const first = new Client({ name: 'new', version: '1' }, { versionNegotiation: { mode: PIN } });
    await first.connect(new StreamableHTTPClientTransport(new URL(url)));
    const discover = first.getDiscoverResult();
    await first.close();
    const mixed = await start(['old', 'new']);
    const client = new Client({ name: 'new', version: '1' }, { versionNegotiation: { mode: PIN } });
    await client.connect(new StreamableHTTPClientTransport(new URL(mixed.url)), {
      prior: { kind: 'modern', discover: discover! },
    });
    expect(backendsOf((await client.listTools()).tools)).toEqual(['new', 'old']);
    await client.close();
  });
});
