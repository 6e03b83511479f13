import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerRequest, type FakeServer, type Message } from '../mcp/answer.ts';

/** One open stream of the fake, and the messages posted to it. */
export interface FakeStream {
  readonly id: number;
  /** Headers of its GET. */
  readonly headers: IncomingMessage['headers'];
  readonly posted: (Message & { headers: IncomingMessage['headers']; result?: unknown; error?: unknown })[];
  isOpen(): boolean;
  /** Sends an event with a JSON-RPC message. */
  say(message: object): void;
  /** Sends these bytes. */
  write(text: string): void;
  end(): void;
}

export interface SseOptions {
  tools: Record<string, (message: Message, stream: FakeStream) => string | undefined | Promise<string | undefined>>;
  /** Data of the endpoint event; undefined: there is none. Default `/messages?sessionId=<id>`. */
  endpoint?: (id: number) => string | undefined;
  /** Inspects each request first; returns true if it answered itself. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface RunningSse {
  readonly url: string;
  readonly port: number;
  readonly streams: FakeStream[];
  /** Returns the number of connections so far. */
  readonly connections: () => number;
  close(): Promise<void>;
}

const eventOf = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`;

/** Serves an MCP server of the HTTP+SSE transport on plain node:http, whose tools may misbehave on their stream. */
export async function serveSse(options: SseOptions): Promise<RunningSse> {
  const streams: FakeStream[] = [];
  let connections = 0;
  const http = createServer((request, response) => {
    if (options.intercept?.(request, response)) return;
    if (request.method === 'GET') open(options, streams, request, response);
    else void post(options, streams, request, response);
  });
  // Idle connections stay open, as tests count connections to verify reuse.
  http.keepAliveTimeout = 65_000;
  http.on('connection', () => connections++);
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/sse`,
    port,
    streams,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

function open(options: SseOptions, streams: FakeStream[], request: IncomingMessage, response: ServerResponse): void {
  if (request.url !== '/sse') {
    response.writeHead(404).end();
    return;
  }
  const id = streams.length;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  const stream: FakeStream = {
    id,
    headers: request.headers,
    posted: [],
    isOpen: () => !response.closed,
    say: (message) => void response.write(eventOf('message', JSON.stringify({ jsonrpc: '2.0', ...message }))),
    write: (text) => void response.write(text),
    end: () => void response.end(),
  };
  streams.push(stream);
  const endpoint = options.endpoint ? options.endpoint(id) : `/messages?sessionId=${id}`;
  if (endpoint !== undefined) response.write(eventOf('endpoint', endpoint));
}

async function post(
  options: SseOptions,
  streams: FakeStream[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('sessionId');
  const stream = streams[Number(id ?? -1)];
  if (!stream?.isOpen()) {
    response.writeHead(404).end('no such session');
    return;
  }
  const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
  stream.posted.push({ ...message, headers: request.headers });
  response.writeHead(202).end('Accepted');
  if (message.method !== undefined && message.id !== undefined) await answer(options, message, stream, request);
}

async function answer(
  { tools }: SseOptions,
  message: Message,
  stream: FakeStream,
  { headers }: IncomingMessage,
): Promise<void> {
  const server: FakeServer = {
    name: 'sse',
    tools: () => Object.keys(tools).map((name) => ({ name, description: '', inputSchema: { type: 'object' } })),
    call: () => undefined,
  };
  const tool = message.method === 'tools/call' ? tools[message.params?.name ?? ''] : undefined;
  if (tool) {
    const text = await tool(message, stream);
    if (text !== undefined) stream.say({ id: message.id, result: { content: [{ type: 'text', text }] } });
    return;
  }
  const { body } = await answerRequest(server, message, headers);
  if (stream.isOpen()) stream.write(eventOf('message', body));
}
