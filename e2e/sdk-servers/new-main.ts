// An MCP server made with the 2.x line of the official SDK: sessions of 2025-11-25 and requests of 2026-07-28 on one endpoint.
import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createEventStore } from '../fakes/everything-server/event-store.ts';
import { serveWebHandler, type WebHandler } from '../fakes/http/serve-web-handler.ts';
import { buildNewServer } from './new-server.ts';
import { readServerOptions, reportUrl, writePid, type ServerOptions } from './server-options.ts';
import { createToolCounts } from './tool-counts.ts';

const options = readServerOptions();
const counts = createToolCounts();
const build = () => buildNewServer(counts);

const refuse = (status: number, message: string) =>
  Response.json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }, { status });

/** Serves the revisions with sessions: one server and one transport for each session. */
function createSessions({ json, eventStore, keepAliveMs }: ServerOptions): WebHandler {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();

  async function open(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: json,
      ...(eventStore && { eventStore: createEventStore() }),
      ...(keepAliveMs !== undefined && { keepAliveMs }),
      onsessioninitialized: (id) => {
        transports.set(id, transport);
      },
    });
    transport.onclose = () => {
      if (transport.sessionId !== undefined) transports.delete(transport.sessionId);
    };
    await build().connect(transport);
    return transport;
  }

  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    if (id !== null) return transports.get(id)?.handleRequest(request) ?? refuse(404, 'Session not found');
    const parsedBody: unknown = await request.json().catch(() => undefined);
    if (!isInitializeRequest(parsedBody)) return refuse(400, 'Bad Request: No valid session ID provided');
    const transport = await open();
    return transport.handleRequest(request, { parsedBody });
  };
}

async function serveHttp(): Promise<void> {
  const modern = createMcpHandler(build, {
    legacy: 'reject',
    responseMode: options.json ? 'json' : 'auto',
    ...(options.keepAliveMs !== undefined && { keepAliveMs: options.keepAliveMs }),
  });
  const legacy = createSessions(options);
  const { port } = await serveWebHandler(async (request) => {
    if (new URL(request.url).pathname !== '/mcp') return new Response(null, { status: 404 });
    const isLegacy = !options.modernOnly && (await isLegacyRequest(request));
    return isLegacy ? legacy(request) : modern.fetch(request);
  }, options.port);
  reportUrl(port);
}

if (options.transport === 'sse') throw new Error('the 2.x line of the SDK has no server for the SSE transport');
if (options.transport === 'stdio') {
  serveStdio(build);
  writePid(options);
} else await serveHttp();
