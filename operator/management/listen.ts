import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** Private key and certificate chain, PEM. */
export interface KeyPair {
  key: string;
  certificate: string;
}

interface Place {
  /** All interfaces without. */
  host?: string;
  /** 0 takes a free one. */
  port: number;
  /** Plain HTTP without. */
  pair?: KeyPair;
}

export interface Listening {
  port: number;
  /** Another certificate, from the next connection on. */
  use(pair: KeyPair): void;
  /** Ends every connection; where an answer is under way after so many milliseconds, at once without. */
  close(grace?: number): Promise<void>;
}

const CONNECTIONS = 256;
const HEADERS_TIMEOUT = 10_000;
const REQUEST_TIMEOUT = 30_000;
const KEPT_ALIVE = 5000;
/** Where a Host header is missing the request is refused by its authority, in our words. */
const LIMITS = {
  headersTimeout: HEADERS_TIMEOUT,
  requestTimeout: REQUEST_TIMEOUT,
  keepAliveTimeout: KEPT_ALIVE,
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 16_384,
  requireHostHeader: false,
};

/** Serves until it is closed, with bounds on everything a caller can hold open. Rejects when the port is taken. */
export async function listen(answer: RequestListener, { host, port, pair }: Place): Promise<Listening> {
  const tls = pair && createTlsServer({ ...LIMITS, ...secured(pair) }, answer);
  const server: Server = tls ?? createServer(LIMITS, answer);
  server.maxConnections = CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
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

const secured = ({ key, certificate }: KeyPair) => ({ key, cert: certificate, minVersion: 'TLSv1.2' as const });
