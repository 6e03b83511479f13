import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { serveEverything, type EverythingServer } from '../fakes/everything-server/serve.ts';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';

let backend: EverythingServer;
let gateway: ServedGateway;

beforeAll(async () => {
  backend = await serveEverything();
  const backends = [{ name: 'one', transport: 'streamable-http' as const, url: backend.url }];
  gateway = await serveGateway({ incoming: { type: 'anonymous' }, backends });
});

afterAll(async () => {
  await gateway.close();
  await backend.close();
});

/** The members that the clients of both SDK lines share. */
interface SdkClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

const clients: Record<string, () => Promise<SdkClient>> = {
  'the SDK client of the 1.x line': async () => {
    const client = new Client1({ name: 'old', version: '1' });
    await client.connect(new Transport1(new URL(gateway.url)));
    return client;
  },
  'the SDK client of the 2.x line': async () => {
    const client = new Client2({ name: 'new', version: '1' });
    await client.connect(new Transport2(new URL(gateway.url)));
    return client;
  },
};

describe.each(Object.keys(clients))('%s', (name) => {
  it('lists the tools and calls one', async () => {
    const client = await clients[name]?.();
    if (!client) throw new Error('no such client');
    try {
      const { tools } = await client.listTools();
      expect(tools.map((tool) => tool.name)).toContain('one_test_simple_text');
      const result = await client.callTool({ name: 'one_test_simple_text', arguments: {} });
      expect(result).toMatchObject({ content: [{ type: 'text' }] });
    } finally {
      await client.close();
    }
  });
});
