import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A server that listens, with a function that stops it. */
export interface RunningServer {
  port: number;
  /** Origin without a trailing slash, e.g. `http://127.0.0.1:4000`. */
  origin: string;
  close(): Promise<void>;
}

export type WebHandler = (request: Request) => Promise<Response>;

/**
 * Serves a web-standard handler on node:http. The request's signal aborts when the client goes away; an exception of
 * the handler becomes a 500 without a body. @param port 0 takes a free one
 */
export async function serveWebHandler(handler: WebHandler, port: number, host = '127.0.0.1'): Promise<RunningServer> {
  const server = createServer((request, response) => {
    void answer(handler, request, response);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    origin: `http://${host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

async function answer(handler: WebHandler, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => {
    gone.abort();
  });
  try {
    const result = await handler(toWebRequest(request, gone.signal));
    response.writeHead(result.status, Object.fromEntries(result.headers));
    response.flushHeaders();
    if (result.body === null) response.end();
    else await pipeline(Readable.fromWeb(result.body), response);
  } catch {
    if (!response.headersSent) response.writeHead(500);
    response.end();
  }
}

function toWebRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) headers.append(name, one);
  }
  const url = `http://${request.headers.host ?? 'localhost'}${request.url ?? '/'}`;
  const method = request.method ?? 'GET';
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers, signal });
  return new Request(url, { method, headers, signal, body: Readable.toWeb(request), duplex: 'half' });
}
