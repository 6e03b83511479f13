import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describeEnd } from '#crds/parts/process-end';
import { endWithGateway } from './end-with-gateway.ts';
import { LineReader, type LargeLine } from './read-lines.ts';

export interface ProcessSettings {
  readonly command: string;
  readonly args: readonly string[];
  /** The process inherits nothing. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly maxLineBytes: number;
  readonly onLine: (line: Buffer) => void;
  readonly onOversized: (head: Buffer, tail: Buffer) => void;
  readonly onLarge: () => LargeLine;
  readonly onStderr: (line: string) => void;
  /** Called once. `reason`: a text of this program. `wasKilled`: an external signal ended it. */
  readonly onExit: (reason: string, wasKilled?: boolean) => void;
}

export interface RunningProcess {
  readonly pid: number | undefined;
  /** Returns false if the process has ended or does not read. */
  write(line: Buffer): boolean;
  pause(): void;
  resume(): void;
  /** Ends all children too: closes standard input, then sends SIGTERM, then SIGKILL. Settles within 2 seconds. */
  stop(): Promise<void>;
}

const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const MAX_STDERR_LINE = 2048;
const STDIN_GRACE = 500;
const TERM_GRACE = 600;
const GROUP_GRACE = 300;
const NEWLINE = Buffer.from('\n');

const nothing = () => undefined;
const NOT_STARTED: RunningProcess = {
  ...{ pid: undefined, write: () => false, pause: nothing, resume: nothing, stop: () => Promise.resolve() },
};

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Starts a group of its own: the SDK ends only one process, so children of a wrapper such as npx would survive. */
export function runProcess(settings: ProcessSettings): RunningProcess {
  let child: Child;
  try {
    child = start(settings);
  } catch (error) {
    // Some failures are events, some are thrown. Both are reported after this function has returned.
    queueMicrotask(() => settings.onExit(cannotStart(error, settings)));
    return { ...NOT_STARTED };
  }
  const exited = Promise.withResolvers<undefined>();
  const release = child.pid === undefined ? nothing : endWithGateway(child.pid);
  let isOver = false;
  const end = (reason: string, wasKilled = false) => {
    if (isOver) return;
    isOver = true;
    exited.resolve(undefined);
    void endGroup(child.pid).finally(release);
    settings.onExit(reason, wasKilled);
  };
  child.on('error', (error) => end(cannotStart(error, settings)));
  child.on('exit', (code, signal) => end(describeEnd(code, signal), wasKilled(code, signal)));
  readOutput(child, settings);
  return {
    pid: child.pid,
    write(line) {
      if (isOver || child.stdin.writableLength + line.length > MAX_UNREAD_BYTES) return false;
      child.stdin.cork();
      child.stdin.write(line);
      child.stdin.write(NEWLINE);
      child.stdin.uncork();
      return true;
    },
    pause: () => void child.stdout.pause(),
    resume: () => void child.stdout.resume(),
    stop: () => stop(child, exited.promise),
  };
}

/** Wrappers such as npx exit with 128 plus the signal of their child. */
const KILLED_CODES: ReadonlySet<number> = new Set([130, 137, 143]);
const KILL_SIGNALS: ReadonlySet<NodeJS.Signals> = new Set(['SIGHUP', 'SIGINT', 'SIGKILL', 'SIGTERM']);

function wasKilled(code: number | null, signal: NodeJS.Signals | null): boolean {
  return signal === null ? code !== null && KILLED_CODES.has(code) : KILL_SIGNALS.has(signal);
}

function start({ command, args, cwd, env }: ProcessSettings): Child {
  return spawn(command, args, { cwd, env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
}

/** A missing folder is reported as ENOENT too, with the text for a missing program. */
function cannotStart(error: unknown, { command, cwd }: Pick<ProcessSettings, 'command' | 'cwd'>): string {
  const code = typeof error === 'object' && error && 'code' in error ? String(error.code) : 'unknown';
  const what = `cannot be started (${code})`;
  if (cwd !== undefined && !existsSync(cwd)) return `${what}: its folder "${cwd}" is not there`;
  if (code === 'ENOENT') return `${what}: there is no program "${command}" here: install it, or correct the command`;
  return `${what}: check its command "${command}" and its folder`;
}

function readOutput(child: Child, settings: ProcessSettings): void {
  const lines = new LineReader(settings);
  const said = (line: Buffer) => settings.onStderr(line.toString('utf8'));
  const stderr = new LineReader({ maxLineBytes: MAX_STDERR_LINE, onLine: said, onOversized: said });
  child.stdout.on('data', (chunk: Buffer) => lines.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  // A broken pipe also ends the process, and its exit is reported.
  const ignore = () => undefined;
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', ignore);
}

async function stop(child: Child, exited: Promise<undefined>): Promise<void> {
  const isGone = (within: number) => Promise.race([exited.then(() => true), delay(within, false, { ref: false })]);
  child.stdin.end();
  if (!(await isGone(STDIN_GRACE))) {
    signalGroup(child.pid, 'SIGTERM');
    if (!(await isGone(TERM_GRACE))) {
      signalGroup(child.pid, 'SIGKILL');
      await isGone(GROUP_GRACE);
    }
  }
  await endGroup(child.pid);
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
}

async function endGroup(pid: number | undefined): Promise<void> {
  if (!signalGroup(pid, 'SIGTERM')) return;
  for (let waited = 0; waited < GROUP_GRACE; waited += 25) {
    await delay(25);
    if (!signalGroup(pid, 0)) return;
  }
  signalGroup(pid, 'SIGKILL');
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals | 0): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
