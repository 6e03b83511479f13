import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/** Maximum of connections that wait to be accepted: the default of `listen`. */
const BACKLOG = 511;

/** A listener that accepts no more connections. */
interface ClosedListener {
  /** Settles when all its connections are closed. */
  readonly emptied: Promise<void>;
}

/**
 * Closes the listener of a server and keeps its connections open. The next answer on each connection tells the client to close it: a
 * connection closed by the server loses a request in transit.
 */
export async function acceptNoMore(server: Server): Promise<ClosedListener> {
  server.prependListener('request', (_req, res) => {
    res.shouldKeepAlive = false;
  });
  await acceptWaiting(server);
  // The close of an HTTP server would close idle connections at once.
  return { emptied: new Promise((resolve) => void NetServer.prototype.close.call(server, () => resolve())) };
}

/**
 * Accepts the waiting connections. Clients may have sent requests on them, and closing the listener would reset them. The event loop
 * accepts one per iteration; a process that was paused may have many.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let accepted = 0;
  const count = () => {
    accepted += 1;
  };
  server.on('connection', count);
  for (let before = -1; before < accepted && accepted < BACKLOG;) {
    before = accepted;
    // The first call may end within the current iteration.
    await turn();
    await turn();
  }
  server.off('connection', count);
}
