import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { describeEnd } from '#crds/parts/process-end';
import type { Clock } from '#operator/queue';
import { codeOf } from '#lib/files/write-file';
import { defined } from '#operator/plan/defined';
import { ProcessIdentity, startOf } from './process-identity.ts';

const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;
/** Milliseconds until a start that `mayStart` refused is tried again. */
const BARRED = 2000;
/** Milliseconds after which a process counts as healthy: the delay after its next crash is the shortest again. */
const LIVED = 10_000;
/** Milliseconds for a clean end. The whole shutdown must stay below 5 s. */
const GRACE = 3000;

export interface ProcessSpec {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  directory: string;
  /** The last line on standard error states why the process could not start, and holds no secret. */
  tellsFailure?: true;
  /** Removes leftovers of a killed process that do not end with it, such as containers. */
  cleanUp?: () => Promise<unknown>;
}

export const ProcessState = z.object({
  name: z.string(),
  state: z.enum(['running', 'waiting', 'stopped']),
  identity: ProcessIdentity.exactOptional(),
  /** Starts after the first. */
  restarts: z.int().min(0),
  lastEnd: z.string().exactOptional(),
  /** Last output line; only when the spec allows it. */
  failure: z.string().exactOptional(),
});
export type ProcessState = z.infer<typeof ProcessState>;

interface ProcessDeps {
  clock: Clock;
  /** The log is closed with the process. */
  openLog: () => Writable;
  /** Called before each start after the first. */
  mayStart?: () => Promise<boolean>;
  changed: (state: ProcessState) => void;
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: the process group is empty.
  }
}

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

/** Returns the code alone, because the message of a refused argument repeats the argument. */
function cannotStart(problem: unknown): string {
  return `could not be started (${codeOf(problem) ?? 'unknown'})`;
}

/** Restarts with a growing delay after crashes. The own process group keeps Ctrl-C from reaching the process. */
export class SupervisedProcess {
  readonly #spec: ProcessSpec;
  readonly #deps: ProcessDeps;
  #child: ChildProcess | undefined;
  #state: ProcessState;
  #crashes = 0;
  #wanted = true;
  #cancelRestart: (() => void) | undefined;

  constructor(spec: ProcessSpec, deps: ProcessDeps) {
    this.#spec = spec;
    this.#deps = deps;
    this.#state = { name: spec.name, state: 'stopped', restarts: 0 };
    this.#start();
  }

  get state(): ProcessState {
    return this.#state;
  }

  /** Ends the children too, within about 3 s. */
  async stop(): Promise<void> {
    this.#wanted = false;
    this.#cancelRestart?.();
    const child = this.#child;
    if (child?.pid !== undefined) await endGroup(child, child.pid, this.#deps.clock);
    await this.#spec.cleanUp?.();
    this.#become({ state: 'stopped' });
  }

  #become(change: Partial<ProcessState>): void {
    const { name, restarts, lastEnd, failure } = this.#state;
    this.#state = { name, state: 'stopped', restarts, ...defined({ lastEnd, failure }), ...change };
    this.#deps.changed(this.#state);
  }

  /** Some start failures are thrown, others are events; both count as an end of the process. */
  #start(): void {
    try {
      const log = this.#deps.openLog();
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
    const started = this.#deps.clock.now();
    const options: SpawnOptions = { cwd: directory, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
    const child = spawn(command, args, options);
    this.#child = child;
    // Without a free file descriptor there are no pipes, and the error arrives as an event.
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
      this.#ended(describeEnd(code, signal), this.#deps.clock.now() - started);
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
    this.#cancelRestart = this.#deps.clock.after(delay, () => {
      void this.#startAgain();
    });
  }
  async #startAgain(): Promise<void> {
    await this.#spec.cleanUp?.();
    const mayStart = (await this.#deps.mayStart?.()) ?? true;
    if (!this.#wanted) return;
    if (!mayStart) {
      this.#cancelRestart = this.#deps.clock.after(BARRED, () => void this.#startAgain());
      return;
    }
    this.#state = { ...this.#state, restarts: this.#state.restarts + 1 };
    this.#start();
  }
}

/** Characters from the end of the output, and of the reported line. */
const TAIL = 4096;
const LONGEST = 500;

/** Matches log lines, stack trace lines, and the line that Node prints after a stack trace. */
const NO_FAILURE = /^(?:[{\s]|Node\.js v)/;

/** Returns the last line if it is plain text, because a runtime that cannot start prints the reason. */
function keepFailure(stream: Readable): () => string | undefined {
  let tail = '';
  stream.on('data', (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-TAIL);
  });
  return () => {
    const last = tail.trimEnd().split('\n').at(-1) ?? '';
    return last === '' || NO_FAILURE.test(last) ? undefined : last.slice(0, LONGEST);
  };
}
