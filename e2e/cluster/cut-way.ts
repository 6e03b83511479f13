import { connect, createServer, type Server, type Socket } from 'node:net';
import { listenOn } from '#runtime/http/listen-on';

/** A proxy of the API server, on a separate port, that can be cut. */
export class CutWay {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  /** `server`: URL of the API server. */
  constructor(server: string) {
    const { hostname, port } = new URL(server);
    this.#server = createServer((near) => {
      const far = connect(Number(port), hostname);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
        one.pipe(other);
      }
    });
  }

  /** Returns the URL of the API server through this proxy. */
  async open(): Promise<string> {
    return `https://127.0.0.1:${await listenOn(this.#server, '127.0.0.1', 0)}`;
  }

  cut(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
