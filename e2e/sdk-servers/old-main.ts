// An MCP server made with the 1.x line of the official SDK, as the SDK's own examples make one.
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import type { Express, Request, Response } from 'express';
import { createEventStore } from '../fakes/everything-server/event-store.ts';
import { buildOldServer } from './old-server.ts';
import { readServerOptions, reportUrl, writePid, type ServerOptions } from './server-options.ts';
import { createToolCounts, type ToolCounts } from './tool-counts.ts';

type HttpOptions = Pick<ServerOptions, 'json' | 'eventStore' | 'keepAliveMs'>;

const refuse = (response: Response, status: number, message: string) =>
  response.status(status).json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null });

/** Serves streamable HTTP: one server and one transport for each session. */
function serveHttp(app: Express, counts: ToolCounts, options: HttpOptions): void {
  const transports = new Map<string, StreamableHTTPServerTransport>();

  async function open(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: options.json,
      ...(options.eventStore && { eventStore: createEventStore() }),
      ...(options.keepAliveMs !== undefined && { keepAliveMs: options.keepAliveMs }),
      onsessioninitialized: (id) => {
        transports.set(id, transport);
      },
    });
    transport.onclose = () => {
      if (transport.sessionId !== undefined) transports.delete(transport.sessionId);
    };
    await buildOldServer(counts).connect(transport);
    return transport;
  }

  app.all('/mcp', async (request: Request, response: Response) => {
    const id = request.get('mcp-session-id');
    const known = id === undefined ? undefined : transports.get(id);
    if (known) return known.handleRequest(request, response, request.body);
    if (id !== undefined) return refuse(response, 404, 'Session not found');
    if (!isInitializeRequest(request.body)) return refuse(response, 400, 'Bad Request: No valid session ID provided');
    const transport = await open();
    return transport.handleRequest(request, response, request.body);
  });
}

/* eslint-disable @typescript-eslint/no-deprecated -- backends still speak the transport of 2024-11-05 */

/** Serves the HTTP+SSE transport of 2024-11-05. */
function serveSse(app: Express, counts: ToolCounts): void {
  const transports = new Map<string, SSEServerTransport>();
  app.get('/mcp', async (_request: Request, response: Response) => {
    const transport = new SSEServerTransport('/messages', response);
    transports.set(transport.sessionId, transport);
    transport.onclose = () => {
      transports.delete(transport.sessionId);
    };
    await buildOldServer(counts).connect(transport);
  });
  app.post('/messages', async (request: Request, response: Response) => {
    const { sessionId } = request.query;
    const transport = typeof sessionId === 'string' ? transports.get(sessionId) : undefined;
    if (!transport) return refuse(response, 404, 'Session not found');
    return transport.handlePostMessage(request, response, request.body);
  });
}

const options = readServerOptions();
const counts = createToolCounts();
if (options.transport === 'stdio') {
  await buildOldServer(counts).connect(new StdioServerTransport());
  writePid(options);
} else {
  const app = createMcpExpressApp();
  if (options.transport === 'http') serveHttp(app, counts, options);
  else serveSse(app, counts);
  const listener = app.listen(options.port, '127.0.0.1', () => {
    reportUrl((listener.address() as AddressInfo).port);
  });
}
