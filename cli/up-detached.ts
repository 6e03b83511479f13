import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AlreadyRunning, readLock } from '#local/lock';
import { openState } from '#local/state-folder';
import { type LocalStatus, readLocalStatus } from '#local/local-status-file';
import { printProblem } from './check-folder.ts';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { isServed, printLocalStatus, serversOf, shownName } from './summarise-status.ts';
import { alreadyRunning, checkThereIsAServer, nextSteps, readiness } from './up.ts';

const LOOK = 50;

function startInBackground(folder: string, { self, state, environment }: Context): ChildProcess {
  const [command = '', ...first] = self;
  const log = openSync(state.ownLog, 'a', 0o600);
  try {
    const args = [...first, 'up', resolve(folder), '--state', state.path];
    const child = spawn(command, args, { detached: true, stdio: ['ignore', log, log], env: environment });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

interface Waited {
  localStatus: LocalStatus | undefined;
  outcome: 'ready' | 'stuck' | 'crashing' | 'ended' | 'late';
}

async function waitUntilReady(
  child: ChildProcess,
  { state }: Context,
  patience: number,
  stop: AbortSignal,
): Promise<Waited> {
  const since = Date.now();
  let isToldToEnd = false;
  for (;;) {
    if (stop.aborted && !isToldToEnd) isToldToEnd = child.kill('SIGTERM');
    const waited = Date.now() - since;
    const reported = readLocalStatus(state);
    const localStatus = reported?.pid === child.pid ? reported : undefined;
    if (child.exitCode !== null || child.signalCode !== null) return { localStatus, outcome: 'ended' };
    const outcome = localStatus ? readiness(localStatus, waited) : 'starting';
    if (outcome !== 'starting') return { localStatus, outcome };
    if (waited > patience) return { localStatus, outcome: 'late' };
    await sleep(LOOK);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Returns 0 when it serves and `until` has ended, 3 when not within `patience` milliseconds; the process keeps trying.
 * If nothing can be served, it ends with the reasons.
 */
export async function upDetached(
  folder: string,
  patience: number,
  context: Context,
  stop: AbortSignal,
  until?: () => Promise<unknown>,
): Promise<number> {
  const { err, state, typed } = context;
  checkThereIsAServer(folder, context);
  openState(state);
  const holder = readLock(state);
  if (holder) throw alreadyRunning(new AlreadyRunning(holder), context);
  const before = sizeOf(state.ownLog);
  const child = startInBackground(folder, context);
  const { localStatus, outcome } = await waitUntilReady(child, context, patience, stop);
  if (outcome === 'ended' && stop.aborted)
    throw new CliError(EXIT_CODES.failed, 'broken off: what was started is stopped again');
  if (outcome === 'ended' || outcome === 'stuck') throw await nothingServed(child, state, before);
  let last = localStatus;
  try {
    if (outcome === 'ready') await until?.();
  } finally {
    last = readLocalStatus(state) ?? localStatus;
    if (last) report(last, context);
  }
  const what = whyNotServed(outcome, until ? undefined : last, patience);
  if (what === undefined) return EXIT_CODES.ok;
  err.write(`${what}; it goes on in the background: see "${typed('status')}" and "${typed('logs')}"\n`);
  return EXIT_CODES.notRunning;
}

function whyNotServed(
  outcome: Waited['outcome'],
  localStatus: LocalStatus | undefined,
  patience: number,
): string | undefined {
  if (outcome === 'crashing') return 'a runtime ends again and again';
  if (outcome !== 'ready') return `not ready after ${patience / 1000} s`;
  const without = (localStatus ? serversOf(localStatus) : []).filter((server) => !isServed(server)).map(shownName);
  return without.length === 0 ? undefined : `${without.join(', ')} ${without.length === 1 ? 'is' : 'are'} not served`;
}

async function nothingServed(child: ChildProcess, { ownLog }: Context['state'], before: number): Promise<CliError> {
  while (child.exitCode === null && child.signalCode === null) await sleep(LOOK);
  const said = readFileSync(ownLog).subarray(before).toString();
  return new CliError(child.exitCode ?? EXIT_CODES.failed, `nothing is served:\n${said.trimEnd()}`);
}

function report(localStatus: LocalStatus, context: Context): void {
  const { out, err } = context;
  out.write(`${[...printLocalStatus(localStatus, context), ...nextSteps(localStatus, context)].join('\n')}\n`);
  for (const problem of localStatus.problems) err.write(`${printProblem(problem)}\n`);
}
