import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolResultSchema, ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Request, Response } from 'express';
import { z } from 'zod';

export interface CoreTasksServer {
  readonly url: string;
  /** Methods of all requests so far. */
  readonly methods: readonly string[];
  readonly state: { began: number };
  close(): Promise<void>;
}

/** Serves tasks of 2025-11-25 with the SDK's 1.x line: `compute` (optional) and `ask` (required, asks for a name). */
export async function serveCoreTasks(port = 0): Promise<CoreTasksServer> {
  const taskStore = new InMemoryTaskStore();
  const taskMessageQueue = new InMemoryTaskMessageQueue();
  const methods: string[] = [];
  const state = { began: 0 };
  const build = () => buildServer(taskStore, taskMessageQueue, state);
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const app = createMcpExpressApp();
  app.all('/mcp', async (request: Request, response: Response) => {
    const { method } = (request.body ?? {}) as { method?: string };
    if (method !== undefined) methods.push(method);
    const id = request.headers['mcp-session-id'];
    let transport = typeof id === 'string' ? transports.get(id) : undefined;
    if (!transport && id !== undefined) {
      response.status(404).end();
      return;
    }
    if (!transport) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => void transports.set(session, made),
      });
      await build().connect(made);
      transport = made;
    }
    await transport.handleRequest(request, response, request.body);
  });
  /* eslint-disable @typescript-eslint/no-deprecated -- backends still speak the transport of 2024-11-05 */
  const channels = new Map<string, SSEServerTransport>();
  app.get('/sse', async (_request: Request, response: Response) => {
    const channel = new SSEServerTransport('/messages', response);
    channels.set(channel.sessionId, channel);
    await build().connect(channel);
  });
  /* eslint-enable @typescript-eslint/no-deprecated */
  app.post('/messages', async (request: Request, response: Response) => {
    const { sessionId } = request.query;
    const channel = typeof sessionId === 'string' ? channels.get(sessionId) : undefined;
    await channel?.handlePostMessage(request, response, request.body);
  });
  const listener = app.listen(port, '127.0.0.1');
  await once(listener, 'listening');
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`,
    methods,
    state,
    async close() {
      taskStore.cleanup();
      for (const transport of [...transports.values(), ...channels.values()]) await transport.close();
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

/** Returns a server with tasks of its own, for a channel. */
export function buildCoreTasks() {
  return buildServer(new InMemoryTaskStore(), new InMemoryTaskMessageQueue(), { began: 0 });
}

function buildServer(
  taskStore: InMemoryTaskStore,
  taskMessageQueue: InMemoryTaskMessageQueue,
  state: { began: number },
) {
  const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const server = new McpServer({ name: 'tasks', version: '1' }, { capabilities, taskStore, taskMessageQueue });
  const { tasks } = server.experimental;
  tasks.registerToolTask(
    'compute',
    { inputSchema: { n: z.number(), ms: z.number().optional() }, execution: { taskSupport: 'optional' } },
    {
      async createTask({ n, ms = 0 }, extra) {
        state.began += 1;
        const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl ?? 60_000, pollInterval: 20 });
        const end = () => extra.taskStore.storeTaskResult(task.taskId, 'completed', text(String(n * 2)));
        // The task may be cancelled meanwhile.
        setTimeout(() => void end().catch(() => undefined), ms).unref();
        return { task };
      },
      getTask: (_args, extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: async (_args, extra) =>
        CallToolResultSchema.parse(await extra.taskStore.getTaskResult(extra.taskId)),
    },
  );
  tasks.registerToolTask(
    'ask',
    { inputSchema: {}, execution: { taskSupport: 'required' } },
    {
      async createTask(_args, extra) {
        const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
        const { taskId } = task;
        const ask = async () => {
          await extra.taskStore.updateTaskStatus(taskId, 'input_required');
          const params = {
            message: 'Your name?',
            requestedSchema: { type: 'object' as const, properties: { name: { type: 'string' as const } } },
          };
          const request = { method: 'elicitation/create' as const, params };
          const { content } = await server.server.request(request, ElicitResultSchema, { relatedTask: { taskId } });
          await extra.taskStore.storeTaskResult(taskId, 'completed', text(`Hello ${String(content?.name)}`));
        };
        setTimeout(() => void ask().catch(() => undefined), 20).unref();
        return { task };
      },
      getTask: (_args, extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: async (_args, extra) =>
        CallToolResultSchema.parse(await extra.taskStore.getTaskResult(extra.taskId)),
    },
  );
  return server;
}
