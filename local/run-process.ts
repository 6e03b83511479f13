import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import type { Writable } from 'node:stream';
import { z } from 'zod';
import { describeEnd } from '#crds/parts/process-end';
import type { Clock } from '#operator/queue';
import { codeOf } from '#lib/files/code-of';
import { defined } from '#operator/plan/defined';
import { keepFailure } from './keep-failure.ts';
import { ProcessIdentity, startOf } from './process-identity.ts';

const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;
/** Milliseconds until a start that is not allowed is tried again. */
const BARRED = 2000;
/** A process that lived so long is taken to have worked: the next crash is followed by the shortest delay again. */
const LIVED = 10_000;
/** How long a process has for a clean end. Together with the rest of the way down it stays below 5 s. */
const GRACE = 3000;

export interface ProcessSpec {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  directory: string;
  /** Its last line of standard error says why it could not start, and holds no secret. */
  tellsFailure?: true;
  /** Takes away what a killed process left that does not end with it. */
  cleanUp?: () => Promise<unknown>;
}

export const ProcessState = z.object({
  name: z.string(),
  state: z.enum(['running', 'waiting', 'stopped']),
  identity: ProcessIdentity.exactOptional(),
  /** Starts after the first. */
  restarts: z.int().min(0),
  /** How the last one ended, without what it printed. */
  lastEnd: z.string().exactOptional(),
  /** Why the last one could not start, in its own words; only where its spec allows it. */
  failure: z.string().exactOptional(),
});
export type ProcessState = z.infer<typeof ProcessState>;

interface ProcessSurroundings {
  clock: Clock;
  /** Opens where the output goes; closed with the process. */
  openLog: () => Writable;
  /** Whether it may be started again now; asked before each start after the first. */
  mayStart?: () => Promise<boolean>;
  /** Called after each change of state. */
  changed: (state: ProcessState) => void;
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: nobody of the group is left.
  }
}

/** Ends a process and all that it started: asks, waits, then kills the whole group. */
async function endGroup(child: ChildProcess, pid: number, clock: Clock): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    await new Promise<void>((resolve) => {
      const cancel = clock.after(GRACE, () => signalGroup(pid, 'SIGKILL'));
      child.once('exit', () => {
        cancel();
        resolve();
      });
      child.kill('SIGTERM');
    });
  }
  signalGroup(pid, 'SIGKILL');
}

/** By its code alone: the message of a refused argument repeats the argument. */
function cannotStart(problem: unknown): string {
  return `could not be started (${codeOf(problem) ?? 'unknown'})`;
}

/**
 * One process that should run: started again when it ends, later after each crash. It has a process group of its own, so
 * that a Ctrl-C of the terminal reaches only vmcp, and so that what it starts ends with it.
 */
export class SupervisedProcess {
  readonly #spec: ProcessSpec;
  readonly #around: ProcessSurroundings;
  #child: ChildProcess | undefined;
  #state: ProcessState;
  #crashes = 0;
  #wanted = true;
  #cancelRestart: (() => void) | undefined;

  constructor(spec: ProcessSpec, around: ProcessSurroundings) {
    this.#spec = spec;
    this.#around = around;
    this.#state = { name: spec.name, state: 'stopped', restarts: 0 };
    this.#start();
  }

  get state(): ProcessState {
    return this.#state;
  }

  /** Ends it and all that it started within about 3 s. */
  async stop(): Promise<void> {
    this.#wanted = false;
    this.#cancelRestart?.();
    const child = this.#child;
    if (child?.pid !== undefined) await endGroup(child, child.pid, this.#around.clock);
    await this.#spec.cleanUp?.();
    this.#become({ state: 'stopped' });
  }

  #become(change: Partial<ProcessState>): void {
    const { name, restarts, lastEnd, failure } = this.#state;
    this.#state = { name, state: 'stopped', restarts, ...defined({ lastEnd, failure }), ...change };
    this.#around.changed(this.#state);
  }

  /** Some failures of a start are thrown, others are events: both count as an end. */
  #start(): void {
    try {
      const log = this.#around.openLog();
      log.on('error', () => undefined);
      try {
        this.#startWith(log);
      } catch (problem) {
        log.end();
        throw problem;
      }
    } catch (problem) {
      this.#ended(cannotStart(problem), 0);
    }
  }

  #startWith(log: Writable): void {
    const { command, args, env, directory } = this.#spec;
    const started = this.#around.clock.now();
    const options: SpawnOptions = { cwd: directory, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
    const child = spawn(command, args, options);
    this.#child = child;
    // Without a file descriptor left there are no pipes, and the error comes as an event.
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    const failureOf = this.#spec.tellsFailure && child.stderr ? keepFailure(child.stderr) : undefined;
    child.once('close', () => {
      log.end();
      if (failureOf) this.#tellFailure(failureOf());
    });
    child.once('error', (problem) => {
      if (child.pid !== undefined) return;
      log.end();
      this.#ended(cannotStart(problem), 0);
    });
    child.once('exit', (code, signal) => {
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
      this.#ended(describeEnd(code, signal), this.#around.clock.now() - started);
    });
    if (child.pid !== undefined) {
      this.#become({ state: 'running', identity: { pid: child.pid, started: startOf(child.pid) ?? '' } });
    }
  }

  /** The streams of a process end after it. */
  #tellFailure(failure: string | undefined): void {
    if (this.#state.state !== 'waiting' || failure === this.#state.failure) return;
    if (failure === undefined) delete this.#state.failure;
    this.#become({ state: 'waiting', ...defined({ failure }) });
  }

  #ended(how: string, lived: number): void {
    this.#child = undefined;
    if (!this.#wanted) return;
    this.#crashes = lived >= LIVED ? 1 : this.#crashes + 1;
    const delay = Math.min(FIRST_DELAY * 2 ** (this.#crashes - 1), LONGEST_DELAY);
    this.#become({ state: 'waiting', lastEnd: how });
    this.#cancelRestart = this.#around.clock.after(delay, () => {
      void this.#startAgain();
    });
  }
  async #startAgain(): Promise<void> {
    await this.#spec.cleanUp?.();
    const mayStart = (await this.#around.mayStart?.()) ?? true;
    if (!this.#wanted) return;
    if (!mayStart) {
      this.#cancelRestart = this.#around.clock.after(BARRED, () => void this.#startAgain());
      return;
    }
    this.#state = { ...this.#state, restarts: this.#state.restarts + 1 };
    this.#start();
  }
}
