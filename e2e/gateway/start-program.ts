import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

const OUTPUT_LIMIT = 64 * 1024;
const STOP_DEADLINE_MS = 5_000;

/** A running child process with its latest output. */
export interface Program {
  pid: number;
  /** Returns the last 64 KiB of both outputs. */
  output: () => string;
  /** Returns the first 64 KiB of both outputs, which hold the messages of the start. */
  beginning: () => string;
  exited(): boolean;
  /** Resolves with the exit code when the process has ended; null if a signal ended it. */
  ended: Promise<number | null>;
  /** Resolves with the first line of standard output that is a JSON object. Rejects at the deadline. */
  firstJson(deadlineMs: number): Promise<Record<string, unknown>>;
  stop: () => Promise<void>;
}

/** Starts a program of this machine. Its standard input is closed. */
export function startProgram(command: string, args: string[], env: NodeJS.ProcessEnv = process.env): Program {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let output = '';
  let beginning = '';
  let stdout = '';
  const keep = (chunk: string) => {
    output = (output + chunk).slice(-OUTPUT_LIMIT);
    if (beginning.length < OUTPUT_LIMIT) beginning = (beginning + chunk).slice(0, OUTPUT_LIMIT);
  };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (stdout.length < OUTPUT_LIMIT) stdout += chunk;
    keep(chunk);
  });
  child.stderr.setEncoding('utf8').on('data', keep);
  // The test's process may end without stopping the child, which would leave an orphan.
  const endWithUs = () => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  child.once('exit', () => process.off('exit', endWithUs));
  child.on('error', (error) => {
    keep(error.message);
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const exited = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  return {
    pid: child.pid ?? 0,
    output: () => output,
    beginning: () => beginning,
    exited,
    ended,
    async firstJson(deadlineMs) {
      for (let waited = 0; waited < deadlineMs; waited += 20) {
        // A program that has ended may have written its line before.
        const isLast = exited();
        const line = stdout.split('\n').find((candidate) => candidate.startsWith('{'));
        if (line !== undefined && stdout.includes(`${line}\n`)) return JSON.parse(line) as Record<string, unknown>;
        if (isLast) break;
        await sleep(20);
      }
      throw new Error(`${args.join(' ')} did not start: ${output}`);
    },
    stop: () => stop(child, exited, ended),
  };
}

async function stop(child: ChildProcess, exited: () => boolean, ended: Promise<unknown>): Promise<void> {
  if (exited()) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
  await ended;
  clearTimeout(timer);
}
