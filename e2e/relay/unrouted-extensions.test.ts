import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer as OldServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { serveWebHandler } from '../fakes/http/serve-web-handler.ts';
import { send, sendModern, SessionClient, type Reply } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';

afterEach(closeAll);

/** Starts an SDK server of the 1.x line whose tool can be a task. `began`: number of tasks. */
async function serveTasks() {
  const state = { began: 0 };
  const taskStore = new InMemoryTaskStore();
  closing({ close: () => taskStore.cleanup() });
  const build = () => {
    const capabilities = { tasks: { requests: { tools: { call: {} } } } };
    const server = new OldServer({ name: 'tasks', version: '1' }, { capabilities, taskStore });
    server.experimental.tasks.registerToolTask(
      'compute',
      { inputSchema: { n: z.number() }, execution: { taskSupport: 'optional' } },
      {
        async createTask({ n }, { taskStore: tasks }) {
          state.began += 1;
          const task = await tasks.createTask({ ttl: 60_000, pollInterval: 10 });
          const result = { content: [{ type: 'text' as const, text: String(n * 2) }] };
          await tasks.storeTaskResult(task.taskId, 'completed', result);
          return { task };
        },
        getTask: (_args, { taskId, taskStore: tasks }) => tasks.getTask(taskId),
        getTaskResult: async (_args, { taskId, taskStore: tasks }) => {
          const { content } = await tasks.getTaskResult(taskId);
          return { content: z.array(z.object({ type: z.literal('text'), text: z.string() })).parse(content) };
        },
      },
    );
    return server;
  };
  const app = createMcpExpressApp();
  app.post('/mcp', async (request: Request, response: Response) => {
    const transport = new StreamableHTTPServerTransport({});
    await build().connect(transport);
    await transport.handleRequest(request, response, request.body);
  });
  const listener = app.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  closing({ close: () => listener.close() });
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`, state };
}

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

  it('does not reach a backend with sessions, and a call returns at once, whatever task it requests', async () => {
    const { url, state } = await serveTasks();
    const gateway = await gatewayTo({ a: url });
    const client = await SessionClient.open(gateway.url, {}, capabilities);
    expect(client.initialized.result?.capabilities).not.toHaveProperty('tasks');
    const listed = (await client.request('tools/list')).answer.result?.tools as Record<string, unknown>[];
    expect(listed).toMatchObject([{ name: 'a_compute' }]);
    expect(JSON.stringify(listed)).not.toContain('taskSupport');
    for (const body of [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"task":{"ttl":1000},"name":"a_compute","arguments":{"n":2}}}',
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a_compute","arguments":{"n":2} , "task" : {"ttl":1000} }}',
      '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a_compute", "task" :{}, "arguments":{"n":2}}}',
      '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a_compute","arguments":{"n":2}}}',
    ]) {
      const reply = await send(gateway.url, 'POST', client.headers, body);
      expect(reply.answer.result).toEqual({ content: [{ type: 'text', text: '4' }] });
    }
    expect(state.began).toBe(4);
  });
});
