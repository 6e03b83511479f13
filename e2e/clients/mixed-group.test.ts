import { createMCPClient } from '@ai-sdk/mcp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { send } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer, type SdkServer } from '../sdk-servers/start-sdk-server.ts';
import { npmProgram, openDesk } from './desk.ts';

type Name = 'old' | 'new' | 'modern';

/** `old` speaks only 2025-11-25, `modern` only 2026-07-28, `new` both. Their tools have the same names. */
let servers: Record<Name, SdkServer>;

beforeAll(async () => {
  const [old, both, modern] = await Promise.all([
    startSdkServer('old'),
    startSdkServer('new'),
    startSdkServer('new', { modernOnly: true }),
  ]);
  servers = { old, new: both, modern };
}, 120_000);
afterAll(() => Promise.all(Object.values(servers).map((server) => server.stop())));
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
  /** JSON text of the result of the call `CALLED`. */
  readonly echoed: string;
  readonly revision?: string | undefined;
}

/** A call of the backend that speaks only 2026-07-28. Groups without that backend answer it with an error. */
const CALLED = { name: 'modern_echo', arguments: { text: 'hi modern' } };

async function connectSdk(url: string, mode: 'auto' | 'legacy' | { pin: '2026-07-28' }): Promise<Seen> {
  const client = new Client({ name: 'new', version: '1' }, { versionNegotiation: { mode } });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const { tools } = await client.listTools();
    const called = client.callTool(CALLED).catch(String);
    return {
      backends: backendsOf(tools),
      echoed: JSON.stringify(await called),
      revision: client.getNegotiatedProtocolVersion(),
    };
  } finally {
    await client.close();
  }
}

async function inspect(url: string, era: string): Promise<Seen> {
  const desk = closing(await openDesk('nobody'));
  const target = ['--cli', url, '--transport', 'http', '--protocol-era', era, '--format', 'json'];
  const run = (method: string, ...args: string[]) =>
    desk.run([...npmProgram('mcp-inspector'), ...target, '--method', method, ...args]);
  const [listed, called] = await Promise.all([
    run('tools/list'),
    run('tools/call', '--tool-name', CALLED.name, '--tool-arg', `text=${CALLED.arguments.text}`),
  ]);
  if (listed.code !== 0) throw new Error(`${listed.stdout} ${listed.stderr}`);
  const { result } = JSON.parse(listed.stdout) as { result: { tools: { name: string }[] } };
  return { backends: backendsOf(result.tools), echoed: called.stdout };
}

/** Clients with their defaults, or with the setting in their name. */
const clients: Readonly<Record<string, (url: string) => Promise<Seen>>> = {
  async 'the SDK client of the 1.x line'(url) {
    const client = await connectOldClient(new URL(url));
    const { tools } = await client.listTools();
    const called = await client.callTool(CALLED).catch(String);
    await client.close();
    return { backends: backendsOf(tools), echoed: JSON.stringify(called) };
  },
  'the SDK client of the 2.x line': (url) => connectSdk(url, 'legacy'),
  'the SDK client of the 2.x line in mode auto': (url) => connectSdk(url, 'auto'),
  async '@ai-sdk/mcp'(url) {
    const client = await createMCPClient({ transport: { type: 'http', url } });
    try {
      const tools = await client.tools();
      const options = { toolCallId: '1', messages: [], context: {} };
      const called = await tools[CALLED.name]?.execute(CALLED.arguments, options);
      return { backends: backendsOf(Object.keys(tools).map((name) => ({ name }))), echoed: JSON.stringify(called) };
    } finally {
      await client.close();
    }
  },
  'the MCP Inspector': (url) => inspect(url, 'legacy'),
  'the MCP Inspector with --protocol-era auto': (url) => inspect(url, 'auto'),
  async 'mcp-remote'(url) {
    const desk = closing(await openDesk('nobody'));
    const client = desk.start([...npmProgram('mcp-remote'), url, '--transport', 'http-only']);
    const clientInfo = { name: 'desk', version: '1' };
    await client.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    client.notify('notifications/initialized');
    const { result, error } = await client.request('tools/list', {});
    const called = await client.request('tools/call', CALLED);
    await client.stop();
    if (result === undefined) throw new Error(JSON.stringify(error));
    return { backends: backendsOf(result.tools as { name: string }[]), echoed: JSON.stringify(called) };
  },
};

describe.each(Object.keys(clients))('%s', (name) => {
  const connect = clients[name]!;

  it('connects to a group of backends with different revisions, and lists and calls the tools of all', async () => {
    const { backends, echoed } = await connect((await start(['old', 'new', 'modern'])).url);
    expect(backends).toEqual(['modern', 'new', 'old']);
    expect(echoed).toContain('hi modern');
  });

  it('connects to a group of backends with both revisions', async () => {
    expect((await connect((await start(['new'])).url)).backends).toEqual(['new']);
  });
});

describe('a client that speaks only 2026-07-28', () => {
  const pin = { pin: '2026-07-28' } as const;

  it('connects to a group if all its backends speak that revision', async () => {
    const { url } = await start(['new']);
    expect(await connectSdk(url, pin)).toMatchObject({ backends: ['new'], revision: '2026-07-28' });
    expect((await inspect(url, 'modern')).backends).toEqual(['new']);
  });

  it('connects to a group with a backend of older revisions, and lists the tools of all backends', async () => {
    const { url } = await start(['old', 'new']);
    expect(await connectSdk(url, pin)).toMatchObject({ backends: ['new', 'old'], revision: '2026-07-28' });
    expect((await inspect(url, 'modern')).backends).toEqual(['new', 'old']);
  });

  it('lists the tools of all backends without server/discover', async () => {
    const { url } = await start(['new']);
    const first = new Client({ name: 'new', version: '1' }, { versionNegotiation: { mode: pin } });
    await first.connect(new StreamableHTTPClientTransport(new URL(url)));
    const discover = first.getDiscoverResult();
    await first.close();
    const mixed = await start(['old', 'new']);
    const client = new Client({ name: 'new', version: '1' }, { versionNegotiation: { mode: pin } });
    await client.connect(new StreamableHTTPClientTransport(new URL(mixed.url)), {
      prior: { kind: 'modern', discover: discover! },
    });
    expect(backendsOf((await client.listTools()).tools)).toEqual(['new', 'old']);
    await client.close();
  });
});
