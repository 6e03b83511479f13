import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/** As many connections as wait at most to be accepted: the default of `listen`. */
const BACKLOG = 511;

/** A listener that takes nothing any more. */
interface ClosedListener {
  /** Settles when all its connections are closed. */
  readonly emptied: Promise<void>;
}

/**
 * Closes the listener of a server and leaves its connections open. Clients leave with their next answer, which says so: a
 * connection that is closed while a request is on its way to it costs that request.
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
 * Accepts what waits for it: for the clients these are connections, on which they have sent already, and a listener that closes resets
 * them. One is accepted in a turn of the event loop, so that there are many where the process was paused.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let accepted = 0;
  const count = () => {
    accepted += 1;
  };
  server.on('connection', count);
  for (let before = -1; before < accepted && accepted < BACKLOG;) {
    before = accepted;
    // The first may end the turn that goes on already.
    await turn();
    await turn();
  }
  server.off('connection', count);
}
