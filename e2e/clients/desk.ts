import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const ROBOT = join(ROOT, 'e2e', 'robot', 'main.ts');
const DEADLINE_MS = 60_000;

/** A home folder with a browser, for programs run as users run them. */
export interface Desk {
  readonly home: string;
  /** Runs a command to its end, without input. @throws if it does not end in time */
  run(command: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** Starts a command that speaks JSON-RPC with one message a line. */
  start(command: readonly string[]): LineClient;
  /** Returns how often a program opened the browser. */
  opened(): Promise<number>;
  close(): Promise<void>;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Rpc {
  readonly id?: number;
  readonly result?: Record<string, unknown>;
  readonly error?: unknown;
}

export interface LineClient {
  request(method: string, params: object): Promise<Rpc>;
  notify(method: string): void;
  /** Returns the program's notifications as JSON, one a line. */
  readonly notifications: () => string;
  readonly stderr: () => string;
  stop(): Promise<void>;
}

/** Returns the first words of the command of an npm program that a folder has installed. */
export const npmProgram = (name: string, folder = ROOT): readonly string[] => [
  process.execPath,
  join(folder, 'node_modules', '.bin', name),
];

/** Opens a desk. `user`: the account that logs in with its browser. */
export async function openDesk(user: string): Promise<Desk> {
  const home = await mkdtemp(join(tmpdir(), 'vmcp-desk-'));
  // The browser command returns at once, as it does for a browser that already runs.
  const [browser, log] = [join(home, 'xdg-open'), join(home, 'opened')];
  await writeFile(log, '');
  await writeFile(
    browser,
    `#!/bin/sh\necho open >> "${log}"\n"${process.execPath}" "${ROBOT}" "$@" > /dev/null 2>&1 &\n`,
  );
  await chmod(browser, 0o755);
  const env = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    BROWSER: browser,
    PATH: [home, process.env.PATH ?? ''].join(delimiter),
    ROBOT_USER: user,
  };
  const running = new Set<ChildProcess>();
  const launch = ([program = '', ...args]: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const child = spawn(program, args, { cwd: home, env: { ...env, ...more } });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  };
  return {
    home,
    run: (command, more) => untilEnd(launch(command, more)),
    start: (command) => byLines(launch(command)),
    opened: async () => (await readFile(log, 'utf8')).split('\n').length - 1,
    async close() {
      await Promise.all([...running].map((child) => stop(child)));
      await rm(home, { recursive: true, force: true });
    },
  };
}

function untilEnd(child: ReturnType<typeof spawn>): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const out = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (chunk: string) => (out[name] += chunk));
    child.stdin?.end();
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`it does not end: ${out.stderr}`));
    }, DEADLINE_MS);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, ...out });
    });
  });
}

function byLines(child: ReturnType<typeof spawn>): LineClient {
  const waiting = new Map<number, (answer: Rpc) => void>();
  let [text, errors, notifications, nextId] = ['', '', '', 1];
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines.filter((one) => one.startsWith('{'))) {
      const answer = JSON.parse(line) as Rpc;
      if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
      else notifications += `${line}\n`;
    }
  });
  const send = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  return {
    request: (method, params) =>
      new Promise((resolve, reject) => {
        const id = nextId++;
        const timer = setTimeout(() => reject(new Error(`no answer to ${method}: ${errors}`)), DEADLINE_MS);
        waiting.set(id, (answer) => {
          clearTimeout(timer);
          resolve(answer);
        });
        send({ id, method, params });
      }),
    notify: (method) => void send({ method }),
    notifications: () => notifications,
    stderr: () => errors,
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 2_000);
  await ended;
  clearTimeout(timer);
}
