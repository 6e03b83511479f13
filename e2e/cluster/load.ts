import { setTimeout as pause } from 'node:timers/promises';
import { SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';

/** Destination of the calls: URL and headers of every request. */
interface Target {
  url: string;
  headers: Record<string, string>;
}

/** Number of sessions that call concurrently, and milliseconds between two calls of one session. */
interface Pace {
  sessions?: number;
  every?: number;
}

/** Outcomes of the calls of one session so far. */
interface Tally {
  answers: number;
  /** Failures: a transport error, a status, an error of the protocol or of the tool. */
  readonly failures: string[];
}

/** Sequential calls in several concurrent sessions, until it is stopped. */
export interface Load {
  /** Structured contents of all answers so far. */
  readonly answers: Record<string, unknown>[];
  /** Failures of all sessions. */
  readonly failures: string[];
  readonly sessions: readonly Readonly<Tally>[];
  stop(): Promise<void>;
}

export async function startLoad(
  { url, headers }: Target,
  tool: string,
  { sessions = 4, every = 20 }: Pace = {},
): Promise<Load> {
  const answers: Record<string, unknown>[] = [];
  const failures: string[] = [];
  const state = { running: true };
  const clients = await Promise.all(Array.from({ length: sessions }, () => SessionClient.open(url, headers)));
  const tallies: Tally[] = [];

  async function callOn(client: SessionClient): Promise<void> {
    const tally: Tally = { answers: 0, failures: [] };
    tallies.push(tally);
    const fail = (why: string) => {
      failures.push(why);
      tally.failures.push(why);
    };
    while (state.running) {
      try {
        const { status, answer, text } = await client.call(tool, {});
        if (status !== 200 || !answer.result || answer.result.isError === true) fail(`${status} ${text}`);
        else {
          answers.push((answer.result.structuredContent ?? answer.result) as Record<string, unknown>);
          tally.answers += 1;
        }
      } catch (error) {
        fail(String(error));
      }
      await pause(every);
    }
  }

  const running = clients.map((client) => callOn(client));
  return {
    answers,
    failures,
    sessions: tallies,
    async stop() {
      state.running = false;
      await Promise.all(running);
    },
  };
}

/**
 * Runs calls during `work`, and some more after it; the sessions are never opened again. Returns the outcomes. @throws
 * if calls do not return within a minute
 */
export async function underLoad(
  target: Target,
  tool: string,
  work: (load: Load) => Promise<void>,
  pace: Pace = {},
): Promise<Load> {
  const load = await startLoad(target, tool, pace);
  const more = (calls: number) => {
    const goal = load.answers.length + load.failures.length + calls;
    return eventually(
      () => load.answers.length + load.failures.length,
      (now) => now >= goal,
    );
  };
  try {
    await more(20);
    await work(load);
    await more(40);
  } finally {
    await load.stop();
  }
  return load;
}

/** Resolves when every session has had so many more answers. */
export async function untilAllGoOn(load: Load, answers: number): Promise<void> {
  const goals = load.sessions.map((session) => session.answers + answers);
  await eventually(
    () => load.sessions.map((session) => session.answers),
    (now) => now.every((count, index) => count >= (goals[index] ?? 0)),
  );
}
