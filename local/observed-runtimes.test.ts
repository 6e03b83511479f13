import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { listenOn } from '#runtime/http/listen-on';
import { ObservedRuntimes } from './observed-runtimes.ts';

/** Pending timers. They never fire on their own, so that no observation comes from another probe. */
let later: (() => void)[];
const clock = {
  now: () => 0,
  after: (_: number, what: () => void) => {
    later.push(what);
    return () => undefined;
  },
};

let runtime: Server;
let isUnanswered: boolean;
let port: number;
let observed: ObservedRuntimes;
let changes: AsyncGenerator<string, void>;

/** Records the reported names in order; each can be awaited. */
function makeChanges(): { changed: (name: string) => void; changes: AsyncGenerator<string, void> } {
  const waiting: string[] = [];
  let wake = (): void => undefined;
  async function* read(): AsyncGenerator<string, void> {
    for (;;) {
      while (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      yield* waiting.splice(0);
    }
  }
  const changed = (name: string) => {
    waiting.push(name);
    wake();
  };
  return { changed, changes: read() };
}

beforeEach(async () => {
  [later, isUnanswered] = [[], false];
  runtime = createServer((_, answer) => {
    if (!isUnanswered) answer.end(JSON.stringify({ ready: true }));
  });
  port = await listenOn(runtime, '127.0.0.1', 0);
  const { changed, changes: read } = makeChanges();
  changes = read;
  observed = new ObservedRuntimes(clock, changed);
});
afterEach(() => {
  observed.close();
  runtime.close();
  runtime.closeAllConnections();
});

it('ObservedRuntimes forgets a process that has ended, before the next probe', async () => {
  observed.watch('demo', port, 'token');
  await changes.next();
  expect(observed.status('demo')?.ready).toBe(true);
  observed.lost('demo');
  expect(observed.status('demo')).toBeUndefined();
  expect(await changes.next()).toEqual({ value: 'demo', done: false });
});

it('ObservedRuntimes probes the successor', async () => {
  observed.watch('demo', port, 'token');
  await changes.next();
  observed.lost('demo');
  await changes.next();
  await changes.next();
  expect(observed.status('demo')?.ready).toBe(true);
});

it('ObservedRuntimes has no status for a runtime that it never watched', () => {
  observed.lost('nobody');
  expect(observed.status('nobody')).toBeUndefined();
});

it('ObservedRuntimes keeps the last status after an unanswered probe only while the runtime listens', async () => {
  observed.watch('demo', port, 'token');
  await changes.next();
  isUnanswered = true;
  await lookAgain();
  expect(observed.status('demo')?.ready).toBe(true);
  runtime.closeAllConnections();
  await new Promise((resolve) => runtime.close(resolve));
  await lookAgain();
  expect(observed.status('demo')).toBeUndefined();
  expect(await changes.next()).toEqual({ value: 'demo', done: false });
});

/** Resolves when the due probe is over and the next one is scheduled. */
async function lookAgain(): Promise<void> {
  await isToCome();
  for (const look of later.splice(0)) look();
  await isToCome();
}

async function isToCome(): Promise<void> {
  while (later.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
