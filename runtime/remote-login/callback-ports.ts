import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Answer } from '#runtime/authserver/handler';
import { listenOn } from '#runtime/http/listen-on';

const PATH = '/callback';
/** `localhost` may be either, and a browser asks both. */
const ADDRESSES = ['127.0.0.1', '::1'];

type Receive = (callback: URL) => Promise<Answer>;

interface Listening {
  readonly servers: readonly Server[];
  receive: Receive;
  timer: NodeJS.Timeout;
}

/** Ports that administrators wrote for the callback of a login: open only while one is under way. */
export class CallbackPorts {
  readonly #open = new Map<number, Listening>();

  /**
   * Listens for `timeout` milliseconds, or until a callback came.
   * @returns the redirect URI: that with which clients of such logins are registered. @throws ConfigError: the port is taken
   */
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
    // What belongs to no login ends none.
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
      // A machine without IPv6 has the one address only.
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
