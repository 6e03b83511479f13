import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/** Maximum of connections that wait to be accepted: the default of `listen`. */
const BACKLOG = 511;

interface ClosedListener {
  readonly emptied: Promise<void>;
}

/** Keeps connections open. The next answer tells each client to close: a connection closed by the server loses a request in transit. */
export async function acceptNoMore(server: Server): Promise<ClosedListener> {
  server.prependListener('request', (_req, res) => {
    res.shouldKeepAlive = false;
  });
  await acceptWaiting(server);
  // The close of an HTTP server would close idle connections at once.
  return { emptied: new Promise((resolve) => void NetServer.prototype.close.call(server, () => resolve())) };
}

/** Closing the listener would reset waiting connections. The event loop accepts one per iteration; a paused process may have many. */
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
