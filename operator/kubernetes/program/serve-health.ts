import { createServer, type Server } from 'node:http';
import { bindServer } from '#lib/connections/bind-server';

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

/** Serves `/healthz`, which always answers 200, and `/readyz`, which answers 503 with the missing parts unless `isReady`. */
export async function serveHealth(
  { bindAddress, healthPort }: { bindAddress: string; healthPort: number },
  missing: () => string | undefined,
): Promise<Listening> {
  return listen('--health-port', healthPort, bindAddress, {
    '/healthz': () => ({ status: 200, text: 'ok\n' }),
    '/readyz': () => {
      const what = missing();
      return what === undefined ? { status: 200, text: 'ok\n' } : { status: 503, text: `${what}\n` };
    },
  });
}

export async function serveMetrics(
  { bindAddress, metricsPort }: { bindAddress: string; metricsPort: number },
  metrics: { render(): Promise<{ contentType: string; text: string }> },
): Promise<Listening> {
  const answer = async () => ({ status: 200, ...(await metrics.render()) });
  return listen('--metrics-port', metricsPort, bindAddress, { '/metrics': answer });
}

/** Listens on a port. Rejects with the remedy if the port is in use. */
async function listen(flag: string, port: number, address: string, answers: Answers): Promise<Listening> {
  const server = createServer((request, response) => {
    const answer = answers[request.url?.split('?')[0] ?? ''];
    void Promise.resolve(answer?.() ?? { status: 404, text: 'not found\n' }).then(({ status, text, contentType }) => {
      response.writeHead(status, { 'content-type': contentType ?? 'text/plain; charset=utf-8' }).end(text);
    });
  });
  server.requestTimeout = 5000;
  server.headersTimeout = 5000;
  server.maxConnections = 100;
  const bound = await bindServer(server, { host: address, port }).catch((cause: unknown) => {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'another program listens there' : message;
    throw new Error(`${flag}=${port}: ${why}: choose another port, or another --bind-address`, { cause });
  });
  return { port: bound, close: () => closeServer(server) };
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
