import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './members.ts';
import { ANY, type Outcomes } from './outcomes.ts';
import { openSoakClient, type ClientKind, type SoakClient } from './soak-client.ts';

export interface TrafficOptions {
  url: URL;
  members: readonly Member[];
  outcomes: Outcomes;
  /** Calls a second. */
  rate: number;
  cancelsPerSecond: number;
  /** The sessions that last as long as the traffic. */
  lasting: readonly ClientKind[];
  /** Headers of the sessions, each of which takes one in turn. Absent: none. */
  callers?: readonly Record<string, string>[];
  /** Whether it opens and abandons sessions as well. */
  abandons: boolean;
}

/**
 * Limit of calls in flight at a member that is down, or on a slow machine: above the member's concurrency limit, below
 * a client's descriptors.
 */
const MOST_AT_MEMBER = 300;
/** Longer than the soak: only a cancel ends such a call. */
const SLOW_MS = 3_600_000;
const OPENED_AT_ONCE = 12;
const ABANDON_EVERY_MS = 3_000;
const DROP_EVERY_MS = 2_000;
const LIST_EVERY_MS = 1_000;
const BIG_BYTES = 100_000;

type Random = <T>(all: readonly T[]) => T;

const pick: Random = (all) => {
  const one = all[Math.floor(Math.random() * all.length)];
  if (one === undefined) throw new Error('nothing to pick from');
  return one;
};

/** Makes one call. Throws if the answer does not belong to the call. */
type Kind = (client: SoakClient, member: Member) => Promise<void>;

const textOf = (result: Awaited<ReturnType<SoakClient['call']>>) => result.content[0]?.text ?? '';

function expectText(actual: string, expected: string): void {
  if (actual !== expected) throw new Error(`wrong answer: ${actual.slice(0, 200)}`);
}

const KINDS: Record<string, Kind> = {
  async echo(client, { name }) {
    const text = Math.random().toString(36);
    expectText(textOf(await client.call(`${name}_echo`, { text })), text);
  },
  async progress(client, { name }) {
    expectText(textOf(await client.call(`${name}_progress`, { steps: 3, every: 20 })), 'reported 3 steps');
  },
  async fail(client, { name }) {
    if ((await client.call(`${name}_fail`, {})).isError !== true) throw new Error('wrong answer: no error');
  },
  async big(client, { name }) {
    const text = textOf(await client.call(`${name}_big`, { bytes: BIG_BYTES }));
    if (text.length !== BIG_BYTES) throw new Error(`wrong answer: ${text.slice(0, 200)}`);
  },
  async elicit(client, { name, asksClient }) {
    const text = asksClient ? textOf(await client.call(`${name}_elicit`, {})) : 'Ada';
    if (!text.includes('Ada')) throw new Error(`wrong answer: ${text.slice(0, 200)}`);
  },
};
/** Calls of each kind among 100. */
const SHARES = Object.entries({ echo: 91, progress: 3, fail: 2, big: 2, elicit: 2 });
const BY_SHARE = SHARES.flatMap(([kind, share]) => Array<string>(share).fill(kind));

/** Start in milliseconds of the monotonic clock, and duration in milliseconds. */
export interface Opening {
  began: number;
  took: number;
}

/** The traffic of a soak: it runs until it is stopped, and records failures in its outcomes. */
export interface Traffic {
  /** Stops the traffic, waits for the calls in flight, and ends the lasting sessions. */
  stop(): Promise<void>;
  /** Duration of each new session's opening, until it had a list and an answer. */
  readonly openings: Opening[];
  readonly cancelled: () => number;
}

/** Opens the lasting sessions and starts the traffic. */
export async function startTraffic(options: TrafficOptions): Promise<Traffic> {
  const clients = await openLasting(options);
  const state = { going: true, cancelled: 0, openings: [] as Opening[] };
  const unhandled = (reason: unknown) => options.outcomes.noteUnhandled(reason);
  process.on('unhandledRejection', unhandled);
  const endStalls = options.outcomes.watchStalls();
  const inFlight = new Set<Promise<void>>();
  const follow = (work: Promise<void>) => {
    inFlight.add(work);
    void work.finally(() => inFlight.delete(work));
  };
  const every = (pauseMs: number, run: () => void) =>
    repeat(
      pauseMs,
      () => state.going,
      () => run(),
    );
  const steady = options.members.filter(({ role }) => role === 'steady');
  const atMember = new Map<string, number>();
  const loops = [
    every(1_000 / options.rate, () => follow(callOne(clients, options, atMember))),
    every(1_000 / options.cancelsPerSecond, () =>
      follow(
        cancelOne(pick(clients), pick(steady)).then(() => {
          state.cancelled += 1;
        }),
      ),
    ),
    every(LIST_EVERY_MS, () => follow(listOnce(pick(clients), steady, options.outcomes))),
    every(DROP_EVERY_MS, () => pick(clients).dropStream()),
    ...(options.abandons ? [every(ABANDON_EVERY_MS, () => follow(abandonOne(options, steady, state.openings)))] : []),
  ];
  return {
    openings: state.openings,
    cancelled: () => state.cancelled,
    async stop() {
      state.going = false;
      await Promise.all(loops);
      await Promise.all(inFlight);
      await Promise.all(clients.map((client) => client.end()));
      process.off('unhandledRejection', unhandled);
      const stalled = endStalls();
      if (stalled > 0) console.log(`  this process stood still for ${(stalled / 1000).toFixed(1)} s`);
    },
  };
}

/** Opens a few sessions at a time: two hundred at once would overload the members. */
async function openLasting({ callers = [], lasting, url }: TrafficOptions): Promise<SoakClient[]> {
  const clients: SoakClient[] = [];
  while (clients.length < lasting.length) {
    const from = clients.length;
    const kinds = lasting.slice(from, from + OPENED_AT_ONCE);
    const open = (kind: ClientKind, index: number) =>
      openSoakClient(kind, url, callers[(from + index) % callers.length]);
    clients.push(...(await Promise.all(kinds.map(open))));
  }
  return clients;
}

/** Calls `run` at a fixed rate, without waiting for its result. After a delay it catches up. */
async function repeat(pauseMs: number, going: () => boolean, run: () => void): Promise<void> {
  const begun = performance.now();
  for (let done = 0; going();) {
    for (; done * pauseMs < performance.now() - begun && going(); done += 1) run();
    await sleep(Math.max(5, done * pauseMs - (performance.now() - begun)));
  }
}

async function callOne(
  clients: readonly SoakClient[],
  { members, outcomes }: TrafficOptions,
  atMember: Map<string, number>,
): Promise<void> {
  const [client, member, kind] = [pick(clients), pick(members), pick(BY_SHARE)];
  const running = atMember.get(member.name) ?? 0;
  if (running >= MOST_AT_MEMBER) return;
  atMember.set(member.name, running + 1);
  await outcomes.record(member.name, kind, () => KINDS[kind]?.(client, member) ?? Promise.resolve());
  atMember.set(member.name, (atMember.get(member.name) ?? 1) - 1);
}

/** Calls a tool that ignores a cancel, and cancels. The SDK leaves the connection open. */
async function cancelOne(client: SoakClient, member: Member): Promise<void> {
  const cancel = new AbortController();
  const call = client.call(`${member.name}_slow`, { ms: SLOW_MS }, cancel.signal).catch(() => undefined);
  await sleep(100 + Math.random() * 400);
  cancel.abort();
  await call;
}

function listOnce(client: SoakClient, steady: readonly Member[], outcomes: Outcomes): Promise<void> {
  return outcomes.record(ANY, 'list', async () => expectTools(await client.toolNames(), steady));
}

function expectTools(names: readonly string[], steady: readonly Member[]): void {
  const missing = steady.filter(({ name }) => !names.includes(`${name}_echo`)).map(({ name }) => name);
  if (missing.length > 0) throw new Error(`the list lacks ${missing.join(', ')}`);
}

/** Opens a session, uses it, and abandons it without a DELETE; about half of them leave a call in flight. */
async function abandonOne(
  { url, outcomes, lasting, callers = [{}] }: TrafficOptions,
  steady: Member[],
  openings: Opening[],
): Promise<void> {
  await outcomes.record(ANY, 'new session', async () => {
    const began = performance.now();
    const client = await openSoakClient(pick(lasting), url, pick(callers));
    try {
      expectTools(await client.toolNames(), steady);
      const member = pick(steady);
      await KINDS.echo?.(client, member);
      openings.push({ began, took: performance.now() - began });
      if (Math.random() < 0.5) {
        void client.call(`${member.name}_slow`, { ms: SLOW_MS }).catch(() => undefined);
        await sleep(100);
      }
    } finally {
      await client.abandon();
    }
  });
}
