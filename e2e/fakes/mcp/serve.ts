import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerRequest, isModern, refuse, type FakeServer, type Message } from './answer.ts';

const MAX_SESSIONS = 50_000;
const MAX_BODY = 16 * 1024 * 1024;

/** A fake MCP server that listens. */
export interface RunningFake {
  port: number;
  url: string;
  /** Requests since the start, by JSON-RPC method; `http` counts all. */
  counts: ReadonlyMap<string, number>;
  /** Notifies all open streams that the list of tools changed. */
  toolsChanged(): void;
  close: () => Promise<void>;
}

/** Inspects a request before the server does; returns true if it answered itself. */
export type Intercept = (request: IncomingMessage, response: ServerResponse, body: string) => boolean;

interface State {
  sessions: Set<string>;
  streams: Map<ServerResponse, (method: string) => string>;
  counts: Map<string, number>;
}

/**
 * Serves an MCP server on `/mcp` with plain node:http: JSON answers, sessions for the older revisions, streams for
 * change notifications. It is cheap enough for the backend of a benchmark. @param port 0 takes a free one @param host
 * address to listen on; in a container 0.0.0.0 @param before awaited before each request is read
 */
export async function serveFake(
  server: FakeServer,
  port = 0,
  intercept?: Intercept,
  host = '127.0.0.1',
  before?: (request: IncomingMessage) => Promise<void>,
): Promise<RunningFake> {
  const state: State = { sessions: new Set(), streams: new Map(), counts: new Map() };
  const http = createServer((request, response) => {
    if (before) void before(request).then(() => handle(request, response));
    else handle(request, response);
  });
  function handle(request: IncomingMessage, response: ServerResponse): void {
    count(state, 'http');
    if (request.method === 'POST') {
      readBody(request, (body) => {
        if (intercept?.(request, response, body)) return;
        void post(server, state, request, response, body);
      });
    } else if (!intercept?.(request, response, '')) {
      sessionOperation(state, request, response);
    }
  }
  http.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, resolve);
  });
  const bound = (http.address() as AddressInfo).port;
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}/mcp`,
    counts: state.counts,
    toolsChanged() {
      for (const [stream, write] of state.streams) stream.write(write('notifications/tools/list_changed'));
    },
    close: () =>
      new Promise((resolve) => {
        http.close(() => {
          resolve();
        });
        http.closeAllConnections();
      }),
  };
}

function count(state: State, name: string): void {
  state.counts.set(name, (state.counts.get(name) ?? 0) + 1);
}

function readBody(request: IncomingMessage, done: (body: string) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_BODY) request.destroy();
    else chunks.push(chunk);
  });
  request.on('end', () => {
    done((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))?.toString() ?? '');
  });
}

async function post(
  server: FakeServer,
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): Promise<void> {
  let message: Message;
  try {
    message = JSON.parse(body) as Message;
  } catch {
    write(response, refuse(undefined, -32700, 'Parse error', 400));
    return;
  }
  count(state, message.method ?? 'response');
  if (message.method === undefined || message.id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const headers: Record<string, string> = {};
  if (message.method === 'initialize') {
    if (state.sessions.size >= MAX_SESSIONS) state.sessions.clear();
    const id = randomUUID();
    state.sessions.add(id);
    headers['mcp-session-id'] = id;
  } else if (message.method === 'subscriptions/listen') {
    listen(state, message, response);
    return;
  } else if (!isModern(message) && !state.sessions.has(String(request.headers['mcp-session-id']))) {
    write(response, refuse(message.id, -32001, 'Session not found', 404));
    return;
  }
  const answer = await answerRequest(server, message, request.headers);
  if (server.streams === true && message.method === 'tools/call') writeEvent(response, answer.body);
  else write(response, answer, headers);
}

function writeEvent(response: ServerResponse, data: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.end(`event: message\ndata: ${data}\n\n`);
}

function write(response: ServerResponse, answer: { status: number; body: string }, more: Record<string, string> = {}) {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer.body), ...more };
  response.writeHead(answer.status, headers).end(answer.body);
}

function sessionOperation(state: State, request: IncomingMessage, response: ServerResponse): void {
  const session = String(request.headers['mcp-session-id']);
  if (!state.sessions.has(session)) {
    response.writeHead(session === 'undefined' ? 405 : 404, { allow: 'POST' }).end();
  } else if (request.method === 'DELETE') {
    state.sessions.delete(session);
    response.writeHead(200).end();
  } else {
    openStream(state, response, (method) => event({ jsonrpc: '2.0', method }));
  }
}

function listen(state: State, message: Message, response: ServerResponse): void {
  const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': message.id } };
  openStream(state, response, (method) => event({ jsonrpc: '2.0', method, params }));
  const notifications = { toolsListChanged: message.params?.notifications?.toolsListChanged === true };
  const method = 'notifications/subscriptions/acknowledged';
  response.write(event({ jsonrpc: '2.0', method, params: { ...params, notifications } }));
}

function openStream(state: State, response: ServerResponse, line: (method: string) => string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  state.streams.set(response, line);
  response.once('close', () => state.streams.delete(response));
}

const event = (message: unknown) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
