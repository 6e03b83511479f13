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

/** `old` speaks only 2025-11-25, `new` both revisions. */
let servers: { old: SdkServer; new: SdkServer };

beforeAll(async () => {
  servers = { old: await startSdkServer('old'), new: await startSdkServer('new') };
}, 120_000);
afterAll(async () => {
  await servers.old.stop();
  await servers.new.stop();
});
afterEach(closeAll);

async function start(names: readonly ('old' | 'new')[]): Promise<ServedGateway> {
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
  readonly revision?: string | undefined;
}

async function connectSdk(url: string, mode: 'auto' | 'legacy' | { pin: '2026-07-28' }): Promise<Seen> {
  const client = new Client({ name: 'new', version: '1' }, { versionNegotiation: { mode } });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const { tools } = await client.listTools();
    return { backends: backendsOf(tools), revision: client.getNegotiatedProtocolVersion() };
  } finally {
    await client.close();
  }
}

async function inspect(url: string, era: string): Promise<Seen> {
  const desk = closing(await openDesk('nobody'));
  const target = ['--cli', url, '--transport', 'http', '--protocol-era', era, '--format', 'json'];
  const { code, stdout, stderr } = await desk.run([
    ...npmProgram('mcp-inspector'),
    ...target,
    '--method',
    'tools/list',
  ]);
  if (code !== 0) throw new Error(`${stdout} ${stderr}`);
  return { backends: backendsOf((JSON.parse(stdout) as { result: { tools: { name: string }[] } }).result.tools) };
}

/** Clients with their defaults, or with the setting in their name. */
const clients: Readonly<Record<string, (url: string) => Promise<Seen>>> = {
  async 'the SDK client of the 1.x line'(url) {
    const client = await connectOldClient(new URL(url));
    const { tools } = await client.listTools();
    await client.close();
    return { backends: backendsOf(tools) };
  },
  'the SDK client of the 2.x line': (url) => connectSdk(url, 'legacy'),
  'the SDK client of the 2.x line in mode auto': (url) => connectSdk(url, 'auto'),
  async '@ai-sdk/mcp'(url) {
    const client = await createMCPClient({ transport: { type: 'http', url } });
    try {
      return { backends: backendsOf(Object.keys(await client.tools()).map((name) => ({ name }))) };
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
    await client.stop();
    if (result === undefined) throw new Error(JSON.stringify(error));
    return { backends: backendsOf(result.tools as { name: string }[]) };
  },
};

describe.each(Object.keys(clients))('%s', (name) => {
  const connect = clients[name]!;

  it('connects to a group with a backend of older revisions, and lists the tools of all backends', async () => {
    expect((await connect((await start(['old', 'new'])).url)).backends).toEqual(['new', 'old']);
  });

  it('connects to a group of backends with both revisions', async () => {
    expect((await connect((await start(['new'])).url)).backends).toEqual(['new']);
  });
});

describe('a client that speaks only 2026-07-28', () => {
  const pin = { pin: '2026-07-28' } as const;

  it('connects to a group if all its backends speak that revision', async () => {
    const { url } = await start(['new']);
    expect(await connectSdk(url, pin)).toEqual({ backends: ['new'], revision: '2026-07-28' });
    expect((await inspect(url, 'modern')).backends).toEqual(['new']);
  });

  it('connects to a group with a backend of older revisions, and lists the tools of all backends', async () => {
    const { url } = await start(['old', 'new']);
    expect(await connectSdk(url, pin)).toEqual({ backends: ['new', 'old'], revision: '2026-07-28' });
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
