import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { bindServer } from '#lib/connections/bind-server';
import { HANDSHAKE_TIMEOUT, shareConnections } from '#lib/connections/share-connections';
import { Problem } from './problem.ts';

/** Private key and certificate chain, PEM. */
interface KeyPair {
  key: string;
  certificate: string;
}

interface ListenOptions {
  /** Default: all interfaces. */
  host?: string;
  /** 0 selects a free port. */
  port: number;
  /** Without it the server speaks plain HTTP. */
  pair?: KeyPair;
}

export interface Listening {
  port: number;
  use(pair: KeyPair): void;
  /** Ends every connection. Pending answers have `grace` milliseconds, 0 by default. */
  close(grace?: number): Promise<void>;
}

const CONNECTIONS = 256;
/** Limit per address, for connections from other machines. */
const OF_ONE_ADDRESS = CONNECTIONS / 2;
const HEADERS_TIMEOUT = 10_000;
const REQUEST_TIMEOUT = 30_000;
const KEPT_ALIVE = 5000;
/** `requireHostHeader` is off because Authenticator rejects a request without a Host header with a problem body. */
const LIMITS = {
  headersTimeout: HEADERS_TIMEOUT,
  requestTimeout: REQUEST_TIMEOUT,
  keepAliveTimeout: KEPT_ALIVE,
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 32_768,
  requireHostHeader: false,
};

/** Limits all resources that a caller can hold. Rejects if the port is taken. */
export async function listen(answer: RequestListener, { host, port, pair }: ListenOptions): Promise<Listening> {
  const tls = pair && createTlsServer({ ...LIMITS, ...secured(pair), handshakeTimeout: HANDSHAKE_TIMEOUT }, answer);
  const server: Server = tls ?? createServer(LIMITS, answer);
  server.maxConnections = CONNECTIONS;
  if (tls) shareConnections(server, OF_ONE_ADDRESS);
  const owesAnswer = watchAnswers(server);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    answerUnread(error, socket, owesAnswer(socket));
  });
  const bound = await bindServer(server, { host, port, exclusive: true });
  return {
    port: bound,
    use: (next) => tls?.setSecureContext(secured(next)),
    async close(grace = 0) {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), grace);
      await closed;
      clearTimeout(timer);
    },
  };
}

/** Ignores finished answers of the connection. */
function watchAnswers(server: Server): (socket: Duplex) => boolean {
  const open = new WeakMap<Duplex, Set<ServerResponse>>();
  server.prependListener('request', ({ socket }, response) => {
    const answers = open.get(socket) ?? new Set();
    open.set(socket, answers.add(response));
    response.once('close', () => answers.delete(response));
  });
  return (socket) => [...(open.get(socket) ?? [])].some(({ headersSent, req }) => headersSent || req.complete);
}

/** Answers a malformed request with a problem body and ends the connection. */
function answerUnread({ code }: NodeJS.ErrnoException, socket: Duplex, isOwed: boolean): void {
  // A pending answer comes first, and a second answer cannot follow a part of it.
  if (!socket.writable || isOwed) {
    socket.destroy();
    return;
  }
  const { status, body } = UNREAD[code ?? ''] ?? NOT_HTTP;
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/problem+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}

const NOT_HTTP = new Problem('bad_request', 'the request is not HTTP/1.1, or its head contradicts itself');
const UNREAD: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: new Problem('headers_too_large', 'send shorter headers, a shorter path or query'),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem('too_slow', 'send the request at once'),
};

const secured = ({ key, certificate }: KeyPair) => ({ key, cert: certificate, minVersion: 'TLSv1.2' as const });
