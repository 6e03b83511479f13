import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Answer } from '#runtime/authserver/handler';
import { listenOn } from '#runtime/http/listen-on';

const PATH = '/callback';
/** `localhost` may resolve to either, and a browser tries both. */
const ADDRESSES = ['127.0.0.1', '::1'];

type Receive = (callback: URL) => Promise<Answer>;

interface Listening {
  readonly servers: readonly Server[];
  receive: Receive;
  timer: NodeJS.Timeout;
}

/** Configured ports for the callback of a login. A port is open only during a login. */
export class CallbackPorts {
  readonly #open = new Map<number, Listening>();

  /** Listens for `timeout` milliseconds, or until a callback. @returns the client's redirect URI @throws ConfigError: the port is in use */
  async open(port: number, timeout: number, receive: Receive): Promise<string> {
    const close = () => this.#close(port);
    const present = this.#open.get(port);
    const timer = setTimeout(close, timeout).unref();
    if (present) {
      clearTimeout(present.timer);
      Object.assign(present, { receive, timer });
    } else {
      const servers = await listenHere(port, (url) => this.#receive(port, url));
      this.#open.set(port, { servers, receive, timer });
    }
    return `http://localhost:${port}${PATH}`;
  }

  close(): void {
    for (const port of [...this.#open.keys()]) this.#close(port);
  }

  async #receive(port: number, callback: URL): Promise<Answer | undefined> {
    const answer = await this.#open.get(port)?.receive(callback);
    // A request that belongs to no login does not close the port.
    if (answer?.status === 200) this.#close(port);
    return answer;
  }

  #close(port: number): void {
    const listening = this.#open.get(port);
    this.#open.delete(port);
    clearTimeout(listening?.timer);
    for (const server of listening?.servers ?? []) {
      server.close();
      server.closeIdleConnections();
    }
  }
}

async function listenHere(port: number, receive: (url: URL) => Promise<Answer | undefined>): Promise<Server[]> {
  const open: Server[] = [];
  for (const address of ADDRESSES) {
    const server = createServer((req, res) => {
      void answerOf(req, port, receive).then((answer) => {
        res.writeHead(answer?.status ?? 404, { connection: 'close', ...answer?.headers }).end(answer?.body);
      });
    });
    server.requestTimeout = 10_000;
    try {
      await listenOn(server, address, port);
      open.push(server);
    } catch (error) {
      // A machine without IPv6 has only the first address.
      if (address === ADDRESSES[0]) throw error;
    }
  }
  return open;
}

async function answerOf(
  { url, method }: IncomingMessage,
  port: number,
  receive: (url: URL) => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  const target = URL.parse(url ?? '/', `http://localhost:${port}`);
  return method === 'GET' && target?.pathname === PATH ? receive(target) : undefined;
}
