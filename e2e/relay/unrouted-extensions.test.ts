import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { serveWebHandler } from '../fakes/http/serve-web-handler.ts';
import { sendModern, type Reply } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';

afterEach(closeAll);

/** Starts an SDK server of the 2.x line that returns its client's capabilities, and whether the call requests a task. */
async function serveTelling(): Promise<string> {
  const build = () => {
    const server = new McpServer({ name: 'telling', version: '1' });
    server.registerTool('declared', { inputSchema: z.object({}) }, (_args, { mcpReq }) => ({
      content: [{ type: 'text', text: JSON.stringify(mcpReq.envelope ?? null) }],
    }));
    return server;
  };
  return serveSdk(build);
}

async function serveSdk(build: () => McpServer): Promise<string> {
  const handler = createMcpHandler(build);
  const served = closing(await serveWebHandler((request) => handler.fetch(request), 0));
  return `http://127.0.0.1:${served.port}/mcp`;
}

const textOf = ({ answer }: Reply) => (answer.result?.content as { text: string }[])[0]?.text ?? '';

describe('the declaration of tasks', () => {
  const capabilities = { roots: {}, tasks: { list: {} }, extensions: { [EXTENSION]: {}, 'com.example/x': { a: 1 } } };

  it('reaches a backend of 2026-07-28 as the extension only, and so do other extensions', async () => {
    const gateway = await gatewayTo({ a: await serveTelling() });
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities, 'com.example/own': 1 };
    const reply = await sendModern(gateway.url, 'tools/call', { name: 'a_declared', arguments: {}, _meta });
    expect(JSON.parse(textOf(reply))).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { roots: {}, extensions: capabilities.extensions },
    });
    expect(textOf(reply)).not.toContain('"tasks"');
  });
});
