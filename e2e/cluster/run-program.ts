import { spawn } from 'node:child_process';

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface How {
  /** Milliseconds after which it is killed. */
  deadline: number;
  /** Its standard input. */
  input?: string;
  env?: Record<string, string>;
  cwd?: string;
}

/** Runs a program to its end. Rejects if it cannot be started, but not on a nonzero code. */
export async function runProgram(program: string, args: readonly string[], how: How): Promise<Finished> {
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: how.deadline,
    killSignal: 'SIGKILL',
    env: { ...process.env, ...how.env },
    ...(how.cwd === undefined ? {} : { cwd: how.cwd }),
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (part: string) => (stdout += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  // The program may end before it has read all input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(how.input ?? '');
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code: code ?? 1, stdout, stderr: stderr + (signal ?? '') }));
  });
}

/** Runs a program that must succeed, and returns its output. On failure, it throws an error with that output. */
export async function run(program: string, args: readonly string[], how: Partial<How> = {}): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, args, { deadline: 60_000, ...how });
  if (code !== 0) throw new Error(`${program} ${args.slice(0, 4).join(' ')} … ended with ${code}: ${stderr || stdout}`);
  return stdout;
}
