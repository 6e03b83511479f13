import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { listenOn } from '#runtime/http/listen-on';
import { ObservedRuntimes } from './observed-runtimes.ts';

/** What is to come; it never comes by itself, so that what is seen was not seen by looking again. */
let later: (() => void)[];
const clock = {
  now: () => 0,
  after: (_: number, what: () => void) => {
    later.push(what);
    return () => undefined;
  },
};

let runtime: Server;
let isSilent: boolean;
let port: number;
let observed: ObservedRuntimes;
let changes: AsyncGenerator<string, void>;

/** The names called, in order, each awaited. */
function makeChanges(): { said: (name: string) => void; changes: AsyncGenerator<string, void> } {
  const waiting: string[] = [];
  let wake = (): void => undefined;
  async function* read(): AsyncGenerator<string, void> {
    for (;;) {
      while (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      yield* waiting.splice(0);
    }
  }
  const said = (name: string) => {
    waiting.push(name);
    wake();
  };
  return { said, changes: read() };
}

beforeEach(async () => {
  [later, isSilent] = [[], false];
  runtime = createServer((_, answer) => {
    if (!isSilent) answer.end(JSON.stringify({ ready: true }));
  });
  port = await listenOn(runtime, '127.0.0.1', 0);
  const { said, changes: read } = makeChanges();
  changes = read;
  observed = new ObservedRuntimes(clock, said);
});
afterEach(() => {
  observed.close();
  runtime.close();
  runtime.closeAllConnections();
});

it('hold nothing of a process that has ended, before anybody asked again', async () => {
  observed.watch('demo', port, 'token');
  await changes.next();
  expect(observed.status('demo')?.ready).toBe(true);
  observed.lost('demo');
  expect(observed.status('demo')).toBeUndefined();
  expect(await changes.next()).toEqual({ value: 'demo', done: false });
});

it('ask its successor', async () => {
  observed.watch('demo', port, 'token');
  await changes.next();
  observed.lost('demo');
  await changes.next();
  await changes.next();
  expect(observed.status('demo')?.ready).toBe(true);
});

it('know nothing of who was never watched', () => {
  observed.lost('nobody');
  expect(observed.status('nobody')).toBeUndefined();
});

it('know what a runtime said last while it is silent for a moment, and look again; one that does not listen says nothing', async () => {
  observed.watch('demo', port, 'token');
  await changes.next();
  isSilent = true;
  await lookAgain();
  expect(observed.status('demo')?.ready).toBe(true);
  runtime.closeAllConnections();
  await new Promise((resolve) => runtime.close(resolve));
  await lookAgain();
  expect(observed.status('demo')).toBeUndefined();
  expect(await changes.next()).toEqual({ value: 'demo', done: false });
});

/** Resolves when the look that was to come is over, and the next one is to come. */
async function lookAgain(): Promise<void> {
  await isToCome();
  for (const look of later.splice(0)) look();
  await isToCome();
}

async function isToCome(): Promise<void> {
  while (later.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
