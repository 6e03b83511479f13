import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

/* eslint-disable @typescript-eslint/no-deprecated -- the lists of McpServer answer at once */

function buildServer(): Server {
  const server = new Server(
    { name: 'slow', version: '1' },
    { capabilities: { tools: {}, prompts: {}, resources: {} } },
  );
  const late = async <T>(result: T): Promise<T> => sleep(300, result);
  server.setRequestHandler(ListToolsRequestSchema, () =>
    late({ tools: [{ name: 'tool', inputSchema: { type: 'object' as const } }] }),
  );
  server.setRequestHandler(ListPromptsRequestSchema, () => late({ prompts: [{ name: 'prompt' }] }));
  server.setRequestHandler(ListResourcesRequestSchema, () => late({ resources: [{ name: 'r', uri: 'x://resource' }] }));
  return server;
}

/** Starts a server of the official SDK with one transport for each session and slow lists. Returns the ids of its requests. */
async function serveSlowLists() {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const ids: string[] = [];
  const app = createMcpExpressApp();
  app.all('/mcp', async (request: Request, response: Response) => {
    const session = request.get('mcp-session-id');
    const { id } = (request.body ?? {}) as { id?: unknown };
    if (id !== undefined) ids.push(JSON.stringify([session ?? null, id]));
    const known = transports.get(session ?? '');
    if (known) return known.handleRequest(request, response, request.body);
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (opened) => void transports.set(opened, transport),
    });
    await buildServer().connect(transport);
    return transport.handleRequest(request, response, request.body);
  });
  const listener = app.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  closing({
    async close() {
      for (const transport of transports.values()) await transport.close();
      listener.close();
      listener.closeAllConnections();
    },
  });
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`, ids };
}

describe("the gateway's requests to a server of the official SDK", () => {
  it('get their own answers when several lists of one session run at the same time', async () => {
    const backend = await serveSlowLists();
    const gateway = await gatewayTo({ slow: backend.url });
    // The gateway caches lists by client capabilities, and no client has declared this one yet.
    const client = await SessionClient.open(gateway.url, {}, { elicitation: {} });
    const lists = await Promise.all(['tools', 'prompts', 'resources'].map((kind) => client.request(`${kind}/list`)));
    expect(lists.map(({ answer }) => answer.result)).toMatchObject([
      { tools: [{ name: 'slow_tool' }] },
      { prompts: [{ name: 'slow_prompt' }] },
      { resources: [{ uri: 'x://resource' }] },
    ]);
    const inSessions = backend.ids.filter((id) => !id.startsWith('[null'));
    expect(inSessions).toHaveLength(new Set(inSessions).size);
  });
});
