import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OperatorMetrics } from './metrics.ts';

/** Path to what is answered there. */
type Answers = Record<string, () => Promise<Answer> | Answer>;

interface Answer {
  status: number;
  text: string;
  contentType?: string;
}

export interface Listening {
  port: number;
  close(): Promise<void>;
}

/** `/healthz`: the process answers. `/readyz`: `isReady` says so, else 503 with what is missing. */
export async function serveHealth(port: number, missing: () => string | undefined): Promise<Listening> {
  return listen(port, '--health-port', {
    '/healthz': () => ({ status: 200, text: 'ok\n' }),
    '/readyz': () => {
      const what = missing();
      return what === undefined ? { status: 200, text: 'ok\n' } : { status: 503, text: `${what}\n` };
    },
  });
}

/** `/metrics` in Prometheus' text format. */
export async function serveMetrics(port: number, metrics: OperatorMetrics): Promise<Listening> {
  return listen(port, '--metrics-port', { '/metrics': async () => ({ status: 200, ...(await metrics.render()) }) });
}

/** Listens on all addresses, both families. Rejects with what to do when the port is taken. */
async function listen(port: number, flag: string, answers: Answers): Promise<Listening> {
  const server = createServer((request, response) => {
    const answer = answers[request.url?.split('?')[0] ?? ''];
    void Promise.resolve(answer?.() ?? { status: 404, text: 'not found\n' }).then(({ status, text, contentType }) => {
      response.writeHead(status, { 'content-type': contentType ?? 'text/plain; charset=utf-8' }).end(text);
    });
  });
  server.requestTimeout = 5000;
  server.headersTimeout = 5000;
  server.maxConnections = 100;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'another program listens there' : cause.message;
      reject(new Error(`${flag}=${port}: ${why}: choose another port`, { cause }));
    });
    server.listen(port, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server) };
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
