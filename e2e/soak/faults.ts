import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './members.ts';
import type { Outcomes } from './outcomes.ts';

export interface FaultOptions {
  killEveryMs: number;
  /** Duration of the hang. */
  hangMs: number;
  /** Start of the hang. */
  hangAfterMs: number;
}

/** Active faults. */
export interface Faults {
  /** Starts no other fault, and resolves when the active ones are over. Rejects if a member did not return. */
  stop(): Promise<void>;
}

/** Kills the members in turn, and lets the hanging one hang once. */
export function startFaults(members: readonly Member[], outcomes: Outcomes, options: FaultOptions): Faults {
  const stopped = new AbortController();
  const kills = killInTurn(
    members.filter(({ role }) => role === 'killed'),
    outcomes,
    options.killEveryMs,
    stopped.signal,
  );
  const hang = hangOnce(
    members.filter(({ role }) => role === 'hanging'),
    outcomes,
    options,
    stopped.signal,
  );
  const all = Promise.all([kills, hang]);
  all.catch(() => undefined);
  return {
    async stop() {
      stopped.abort();
      await all;
    },
  };
}

/** Resolves early, with false, when the faults are stopped. */
const waited = (milliseconds: number, signal: AbortSignal): Promise<boolean> =>
  sleep(milliseconds, true, { signal }).catch(() => false);

async function killInTurn(
  members: readonly Member[],
  outcomes: Outcomes,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (let turn = 0; await waited(everyMs, signal); turn += 1) {
    const member = members[turn % members.length];
    if (!member) return;
    const end = outcomes.beginOutage(member.name);
    await member.killAndRestart();
    end();
  }
}

async function hangOnce(
  members: readonly Member[],
  outcomes: Outcomes,
  { hangAfterMs, hangMs }: FaultOptions,
  signal: AbortSignal,
): Promise<void> {
  if (members.length === 0 || !(await waited(hangAfterMs, signal))) return;
  const ends = members.map(({ name }) => outcomes.beginOutage(name));
  for (const member of members) member.signal('SIGSTOP');
  await waited(hangMs, signal);
  for (const member of members) member.signal('SIGCONT');
  for (const end of ends) end();
}
