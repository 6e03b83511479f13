import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that systems give to whoever asks for any port, so that nobody is given it before it is used. */
const RANGE = [12_000, 30_000] as const;
const TRIES = 100;
/** None is given twice: it may not be listened on yet. */
const given = new Set<number>();

/** Whether nobody listens there. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** A port of this machine that is to be named before it is listened on. Throws when there is none. */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(...RANGE);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`no free port between ${RANGE.join(' and ')}`);
}
