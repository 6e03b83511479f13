import { randomUUID } from 'node:crypto';
import {
  isInitializeRequest,
  WebStandardStreamableHTTPServerTransport,
  type McpServer,
} from '@modelcontextprotocol/server';
import type { WebHandler } from '../http/serve-web-handler.ts';
import { createEventStore } from './event-store.ts';
import type { ServerState } from './server-state.ts';

const MAX_SESSIONS = 20_000;

interface Session {
  transport: WebStandardStreamableHTTPServerTransport;
  end(): Promise<void>;
}

/** Serves the revisions that have sessions: one MCP server per session, resumable streams, subscriptions. */
export function createSessions(
  serverState: ServerState,
  build: () => McpServer,
): { handle: WebHandler; close(): Promise<void> } {
  const sessions = new Map<string, Session>();

  async function open(): Promise<WebStandardStreamableHTTPServerTransport> {
    const server = build();
    const subscribed = followSubscriptions(server);
    const stop = serverState.listen({
      toolsChanged: () => server.sendToolListChanged(),
      promptsChanged: () => server.sendPromptListChanged(),
      resourcesChanged: () => server.sendResourceListChanged(),
      resourceUpdated: (uri) => {
        if (subscribed.has(uri)) void server.server.sendResourceUpdated({ uri });
      },
    });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      retryInterval: 500,
      onsessioninitialized: (id) => {
        sessions.set(id, { transport, end: () => server.close() });
      },
    });
    await server.connect(transport);
    const onClose = transport.onclose;
    transport.onclose = () => {
      stop();
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
      onClose?.();
    };
    return transport;
  }

  return {
    async handle(request) {
      const id = request.headers.get('mcp-session-id');
      if (id !== null) {
        const session = sessions.get(id);
        return session ? session.transport.handleRequest(request) : refuse(404, 'Session not found');
      }
      const parsedBody: unknown = await request.json().catch(() => undefined);
      if (!isInitializeRequest(parsedBody)) return refuse(400, 'Bad Request: no session id');
      if (sessions.size >= MAX_SESSIONS) return refuse(503, 'Too many sessions');
      const transport = await open();
      return transport.handleRequest(request, { parsedBody });
    },
    async close() {
      await Promise.all([...sessions.values()].map((session) => session.end()));
    },
  };
}

function followSubscriptions(server: McpServer): Set<string> {
  const uris = new Set<string>();
  server.server.setRequestHandler('resources/subscribe', ({ params }) => {
    uris.add(params.uri);
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    uris.delete(params.uri);
    return {};
  });
  return uris;
}

function refuse(status: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }, { status });
}
