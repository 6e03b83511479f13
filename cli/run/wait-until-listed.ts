import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { parseJson } from '#lib/json/parse-json';
import { type LocalStatus, readLocalStatus } from '#local/local-status-file';
import type { StateFolder } from '#local/state-folder';
import { lastLines } from '#local/tail-log';
import { backendChild, runtimeChildOf } from '#operator/plan/child-names';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { showProgress } from '../show-progress.ts';
import { shownLine, shownText } from '../shown-output.ts';
import { serversOf, type ServerSummary } from '../summarise-status.ts';

const LOOK = 200;
/** Milliseconds until a new secret is read. A backend that lacks it for longer has an error. */
const SETTLED = 5_000;

/** Exits after which a program counts as broken. */
const ENDS = 3;

interface Backend {
  server: ServerSummary;
  phase: string;
  tools: number | null;
  message: string;
  /** Null: no login is needed. */
  loginUrl: string | null;
  ends: number;
}

function backendsOf(name: string, since: number, { state }: Pick<Context, 'state'>): Backend[] {
  const localStatus = readLocalStatus(state);
  if (!localStatus) return [];
  return serversOf(localStatus).flatMap((server) => {
    const found = server.backends.filter((backend) => backend.name === name);
    const ends = found.length > 0 ? findEnds(name, server, localStatus, state, since) : undefined;
    return found.map((backend) => ({
      ...backend,
      // The connection error only follows from the exit.
      message: ends ? tellEnds(ends) : backend.message,
      ends: ends?.times ?? 0,
      server,
    }));
  });
}

interface Clock {
  now: () => number;
  pause: (milliseconds: number, stop: AbortSignal) => Promise<void>;
}

const CLOCK: Clock = {
  now: () => performance.now(),
  pause: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }).catch(() => undefined),
};

/** `startedAt` is the earliest start of its program, in milliseconds since 1970. @throws CliError with code 3 and the reason */
export async function waitUntilListed(
  name: string,
  patience: number,
  context: Pick<Context, 'state' | 'err' | 'typed'>,
  stop: AbortSignal,
  { clock = CLOCK, startedAt = Date.now() }: { clock?: Clock; startedAt?: number } = {},
): Promise<ServerSummary[]> {
  const since = clock.now();
  let hopefulAt = since;
  return showProgress(`waiting until the tools of ${name} are listed`, context, async (say) => {
    for (;;) {
      const backends = backendsOf(name, startedAt, context);
      const ready = backends.filter(({ phase, tools }) => phase === 'Ready' && tools !== null);
      if (ready.length > 0 && ready.length === backends.length) return ready.map(({ server }) => server);
      const [first] = backends.filter(({ message, loginUrl }) => message !== '' || loginUrl !== null);
      if (first) say(`waiting for ${name}: ${first.message.split('\n')[0] ?? ''}`);
      const now = clock.now();
      if (backends.length === 0 || !backends.every(needsSomebody)) hopefulAt = now;
      if (isHopeless(backends) || now - hopefulAt > SETTLED || now - since > patience)
        throw notListed(name, first, context);
      await clock.pause(LOOK, stop);
      if (stop.aborted)
        throw new CliError(EXIT_CODES.failed, `stopped waiting; ${name} stays: ${context.typed(`rm ${name}`)}`);
    }
  });
}

/** Only a user action makes the tools known. */
const needsSomebody = ({ phase, loginUrl }: Backend): boolean => phase === 'Excluded' || loginUrl !== null;

/** A login is needed, or the program is broken. */
function isHopeless(backends: readonly Backend[]): boolean {
  if (backends.length === 0) return false;
  const waitsForLogin = backends.every(needsSomebody) && backends.some(({ loginUrl }) => loginUrl !== null);
  return waitsForLogin || backends.every(({ ends }) => ends >= ENDS);
}

function notListed(name: string, backend: Backend | undefined, { typed }: Pick<Context, 'typed'>): CliError {
  if (backend && backend.loginUrl !== null) {
    const message = `${name} is there, and a person has to log in at it once: ${typed(`login ${name}`)}`;
    return new CliError(EXIT_CODES.notRunning, message);
  }
  if (!backend) {
    const remedy = `write a VirtualMCPServer with its group as config.groupRef, or give it another group with "${typed(`edit ${name}`)}"`;
    return new CliError(EXIT_CODES.notRunning, `${name} is there, but no endpoint here offers its group: ${remedy}`);
  }
  const remedy = `see "${typed(`logs ${name}`)}"; "${typed(`edit ${name}`)}" changes it, "${typed(`rm ${name}`)}" takes it away`;
  return new CliError(
    EXIT_CODES.notRunning,
    `${name} is there, but its tools are not listed: ${backend.message}\n${remedy}`,
  );
}

interface Ends {
  times: number;
  how: string;
  said: string;
}

/** Characters. */
const SHOWN = 300;
/** Lines of a log. */
const LINES = 500;

const Gone = z.object({
  time: z.string(),
  message: z.literal('the process of a backend is gone'),
  backend: z.string(),
  reason: z.string(),
  said: z.string().default(''),
});

function goneIn(line: string): z.infer<typeof Gone> | undefined {
  return Gone.safeParse(parseJson(line)).data;
}

/** `since` is in milliseconds since 1970. Programs with an address have own logs; stdio programs use their server's log. */
function findEnds(
  workload: string,
  server: Pick<ServerSummary, 'kind' | 'name'>,
  { processes }: Pick<LocalStatus, 'processes'>,
  { logs }: Pick<StateFolder, 'logs'>,
  since: number,
): Ends | undefined {
  const child = backendChild(workload);
  const own = processes.find(({ name }) => name === child);
  if (own?.lastEnd !== undefined) {
    const [said = ''] = lastLines(join(logs, `${child}.log`), 1, false).lines;
    const times = own.restarts + (own.state === 'waiting' ? 1 : 0);
    return { times, how: own.lastEnd, said: shownLine(said).slice(0, SHOWN) };
  }
  const { lines } = lastLines(join(logs, `${runtimeChildOf(server)}.log`), LINES, false);
  const all = lines.flatMap((line) => goneIn(line) ?? []);
  const ends = all.filter(({ backend, time }) => backend === workload && Date.parse(time) >= since);
  const last = ends.at(-1);
  return last && { times: ends.length, how: last.reason, said: shownText(last.said).trim() };
}

function tellEnds({ times, how, said }: Ends): string {
  const often = times > 1 ? `, ${times} times` : '';
  if (said === '') return `its program ${how}${often}`;
  return `its program ${how}${often}, and said:${said.includes('\n') ? `\n${said.replaceAll(/^/gm, '  ')}` : ` ${said}`}`;
}
