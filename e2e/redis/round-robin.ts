import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that gives each request to the next of its targets, as a Service does with connections. */
export interface RoundRobin {
  readonly url: string;
  /** Requests that had reached a target and got no whole answer. */
  cut(): number;
  /** Requests that each target answered, by port. */
  readonly answered: ReadonlyMap<number, number>;
  close(): Promise<void>;
}

/** A target that takes no connection is passed over; what was sent is never sent twice. */
export async function serveRoundRobin(ports: readonly number[]): Promise<RoundRobin> {
  const agent = new Agent({ keepAlive: true });
  const answered = new Map<number, number>();
  let next = 0;
  let cut = 0;
  const forward = (req: IncomingMessage, res: ServerResponse, body: Buffer, first: number, passed = 0): void => {
    const port = ports[(first + passed) % ports.length] ?? 0;
    let isConnected = false;
    const giveUp = () => {
      cut += 1;
      if (res.headersSent) res.destroy();
      else res.writeHead(502).end('cut');
    };
    const { method, url, headers } = req;
    const sent = httpRequest({ host: '127.0.0.1', ...{ port, method, path: url, headers, agent } }, (answer) => {
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    cut: () => cut,
    answered,
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
