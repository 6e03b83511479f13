import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const HOST = '127.0.0.1';

/** A proxy that sends each request to the next target, as a Service does with connections. */
export interface RoundRobin {
  readonly url: string;
  /** Returns the number of requests that reached a target without a complete answer. */
  cut(): number;
  /** Number of requests that each target answered, by port. */
  readonly answered: ReadonlyMap<number, number>;
  /** Opens no more connections to a target, as for a terminating pod. Existing ones stay. */
  leave(port: number): void;
  join(port: number): void;
  close(): Promise<void>;
}

/** Skips a target that accepts no connection, and never sends a request twice. */
class Targets {
  readonly ports: readonly number[];
  readonly agent = new Agent({ keepAlive: true });
  readonly answered = new Map<number, number>();
  readonly left = new Set<number>();
  cut = 0;

  constructor(ports: readonly number[]) {
    this.ports = ports;
  }

  /** Sends a request to the target whose turn it is, or to the next one that accepts the connection. */
  forward(req: IncomingMessage, res: ServerResponse, body: Buffer, due: number, passed = 0): void {
    const port = this.ports[(due + passed) % this.ports.length] ?? 0;
    const passOn = () => this.forward(req, res, body, due, passed + 1);
    if (this.left.has(port) && !this.#hasIdle(port) && passed < this.ports.length) {
      passOn();
      return;
    }
    let isConnected = false;
    const { method, url, headers } = req;
    const where = { host: HOST, port, method, path: url, headers, agent: this.agent };
    const sent = httpRequest(where, (answer) => this.#answer(res, answer, port));
    sent.once('socket', (socket) => {
      isConnected = !socket.connecting;
      if (socket.connecting) socket.once('connect', () => (isConnected = true));
    });
    sent.once('error', () => {
      if (isConnected || passed === this.ports.length) this.#giveUp(res);
      else passOn();
    });
    res.once('close', () => {
      if (!res.writableFinished) sent.destroy();
    });
    sent.end(body);
  }

  #hasIdle(port: number): boolean {
    return (this.agent.freeSockets[this.agent.getName({ host: HOST, port })] ?? []).length > 0;
  }

  #answer(res: ServerResponse, answer: IncomingMessage, port: number): void {
    this.answered.set(port, (this.answered.get(port) ?? 0) + 1);
    // These two headers apply to one connection only.
    const kept = Object.entries(answer.headers).filter(([name]) => name !== 'connection' && name !== 'keep-alive');
    res.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept));
    answer.pipe(res);
    answer.once('error', () => this.#giveUp(res));
  }

  #giveUp(res: ServerResponse): void {
    this.cut += 1;
    if (res.headersSent) res.destroy();
    else res.writeHead(502).end('cut');
  }
}

export async function serveRoundRobin(ports: readonly number[]): Promise<RoundRobin> {
  const targets = new Targets(ports);
  let next = 0;
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.once('end', () => targets.forward(req, res, Buffer.concat(chunks), next++));
  });
  // On a busy machine, a client may send its next request just as the server closes the idle connection.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/mcp`,
    cut: () => targets.cut,
    answered: targets.answered,
    leave: (port) => void targets.left.add(port),
    join: (port) => void targets.left.delete(port),
    close: () =>
      new Promise((resolve) => {
        targets.agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
