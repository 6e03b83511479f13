import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ephemeral range, so that the system gives none of these ports to another program. */
const RANGE = [12_000, 30_000] as const;
const TRIES = 100;
/** Ports that were returned already. Their programs may not listen yet. */
const given = new Set<number>();

/** Returns whether no program listens on the port. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Returns a free port of this machine, for a document that names it before a program listens. @throws when none is free. */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(...RANGE);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`no free port between ${RANGE.join(' and ')}`);
}
