import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const HOST = '127.0.0.1';

/** A proxy that gives each request to the next of its targets, as a Service does with connections. */
export interface RoundRobin {
  readonly url: string;
  /** Requests that had reached a target and got no whole answer. */
  cut(): number;
  /** Requests that each target answered, by port. */
  readonly answered: ReadonlyMap<number, number>;
  /** Makes no connection to a target any more, as to a pod that ends; those that there are serve on. */
  leave(port: number): void;
  join(port: number): void;
  close(): Promise<void>;
}

/** A target that takes no connection is passed over; what was sent is never sent twice. */
export async function serveRoundRobin(ports: readonly number[]): Promise<RoundRobin> {
  const agent = new Agent({ keepAlive: true });
  const answered = new Map<number, number>();
  const left = new Set<number>();
  const hasIdle = (port: number) => (agent.freeSockets[agent.getName({ host: HOST, port })] ?? []).length > 0;
  let next = 0;
  let cut = 0;
  const forward = (req: IncomingMessage, res: ServerResponse, body: Buffer, first: number, passed = 0): void => {
    const port = ports[(first + passed) % ports.length] ?? 0;
    if (left.has(port) && !hasIdle(port) && passed < ports.length) {
      forward(req, res, body, first, passed + 1);
      return;
    }
    let isConnected = false;
    const giveUp = () => {
      cut += 1;
      if (res.headersSent) res.destroy();
      else res.writeHead(502).end('cut');
    };
    const { method, url, headers } = req;
    const sent = httpRequest({ host: HOST, ...{ port, method, path: url, headers, agent } }, (answer) => {
      answered.set(port, (answered.get(port) ?? 0) + 1);
      // These two are for one connection only.
      const kept = Object.entries(answer.headers).filter(([name]) => name !== 'connection' && name !== 'keep-alive');
      res.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept));
      answer.pipe(res);
      answer.once('error', giveUp);
    });
    sent.once('socket', (socket) => {
      isConnected = !socket.connecting;
      if (socket.connecting) socket.once('connect', () => (isConnected = true));
    });
    sent.once('error', () => {
      if (isConnected || passed === ports.length) giveUp();
      else forward(req, res, body, first, passed + 1);
    });
    res.once('close', () => {
      if (!res.writableFinished) sent.destroy();
    });
    sent.end(body);
  };
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.once('end', () => forward(req, res, Buffer.concat(chunks), next++));
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/mcp`,
    cut: () => cut,
    answered,
    leave: (port) => void left.add(port),
    join: (port) => void left.delete(port),
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
