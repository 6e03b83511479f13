import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serversOf } from '#cli/summarise-status';
import { locateState } from '#local/state-folder';
import { readLocalStatus } from '#local/local-status-file';

export const ROOT = join(import.meta.dirname, '..', '..');
const BUILT = join(ROOT, 'dist', 'vmcp.js');

/** The command: built when there is a build, else the sources. */
export const PROGRAM = existsSync(BUILT) ? BUILT : join(ROOT, 'cli', 'main.ts');
export const WHOAMI = join(ROOT, 'e2e', 'fakes', 'whoami', 'main.ts');

interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A working directory with a folder of manifests, in which commands run. */
export interface Workplace {
  path: string;
  /** Writes a manifest; undefined removes it. */
  manifest(name: string, text: string | undefined): void;
  read(file: string): string;
  /** `environment` is added to that of the tests. */
  run(args: string[], environment?: NodeJS.ProcessEnv): Promise<Result>;
  /** Starts a command that keeps running; returns its process and its output so far. */
  start(
    args: string[],
    environment?: NodeJS.ProcessEnv,
  ): {
    pid: number;
    output: () => string;
    ended: Promise<number | null>;
    signal(name: NodeJS.Signals): void;
  };
  status(): Promise<StatusOutput>;
  /** Reads the status without a process, for frequent calls; undefined before the first one is written. */
  glance(): StatusOutput | undefined;
  /** Returns the status as soon as it fits. Runs the command only then, as each run costs a third of a second of CPU. */
  statusThat(fits: (status: StatusOutput) => boolean): Promise<StatusOutput>;
  /** Ends everything that runs here and removes the directory. */
  close(): Promise<void>;
}

export interface StatusOutput {
  endpoint: string | null;
  phase: string;
  redirectUris: Record<string, string>;
  backends: { name: string; phase: string; tools: number | null; message: string }[];
  conditions: { type: string; status: string; reason: string; message: string }[];
  processes: { name: string; state: string; restarts: number; identity?: { pid: number }; lastEnd?: string }[];
  problems: { file: string; line: number; message: string }[];
}

/** The default way to start the command: Node with its file. */
const STARTED: readonly [string, ...string[]] = [process.execPath, PROGRAM];

function launch(how: typeof STARTED, cwd: string, args: string[], environment: NodeJS.ProcessEnv = {}) {
  const env = { ...process.env, ...environment };
  const [program, ...before] = how;
  const child = spawn(program, [...before, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (stdout += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  return { child, ended, stdout: () => stdout, stderr: () => stderr };
}

export function makeWorkplace(how = STARTED): Workplace {
  const path = mkdtempSync(join(tmpdir(), 'vmcp-local-'));
  const folder = join(path, 'manifests');
  mkdirSync(folder);
  async function run(args: string[], environment?: NodeJS.ProcessEnv): Promise<Result> {
    const { ended, stdout, stderr } = launch(how, path, args, environment);
    return { code: await ended, stdout: stdout(), stderr: stderr() };
  }
  const status = async () => JSON.parse((await run(['status', '-o', 'json'])).stdout) as StatusOutput;
  function glance(): StatusOutput | undefined {
    const localStatus = readLocalStatus(locateState(join(path, '.vmcp')));
    const [server] = localStatus ? serversOf(localStatus) : [];
    return localStatus && server && { ...server, problems: localStatus.problems, processes: localStatus.processes };
  }
  return {
    path,
    run,
    status,
    glance,
    async statusThat(fits) {
      await eventually(glance, (seen) => seen !== undefined && fits(seen));
      return eventually(status, fits);
    },
    manifest(name, text) {
      if (text === undefined) rmSync(join(folder, name));
      else writeFileSync(join(folder, name), text);
    },
    read: (file) => readFileSync(join(path, file), 'utf8'),
    start(args, environment) {
      const { child, ended, stdout, stderr } = launch(how, path, args, environment);
      return {
        pid: child.pid ?? 0,
        output: () => stdout() + stderr(),
        ended,
        signal: (name) => child.kill(name),
      };
    },
    async close() {
      await run(['down']);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Repeats `ask` until the answer fits; fails with the last answer after `deadline` milliseconds. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  fits: (answer: T) => boolean,
  deadline = 60_000,
): Promise<T> {
  const end = Date.now() + deadline;
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (Date.now() > end) throw new Error(`never came; last: ${JSON.stringify(answer)}`);
    await sleep(100);
  }
}
