import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { codeOf } from '#lib/files/write-file';
import { Problem } from '../problem.ts';
import { unusable } from './skill-limits.ts';

const LONGEST_ERROR = 8_192;
const LONGEST_OUTPUT = 1_048_576;
/** Milliseconds that git has to end after a signal. */
const GRACE = 2_000;
const HAS_GROUPS = process.platform !== 'win32';

export interface GitSettings {
  searchPath: string;
  home: string;
  /** Allowed protocols: `https`, and `http` or `file` if permitted. */
  protocols: readonly string[];
  proxy: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** The repository is untrusted; git ignores the configuration of the machine and the user. */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'core.askPass=',
  // Larger files are streamed, not held in memory.
  'core.bigFileThreshold=16m',
  'credential.helper=',
  'fetch.fsckObjects=true',
  'fetch.recurseSubmodules=false',
  'fetch.unpackLimit=1',
  'gc.auto=0',
  'http.followRedirects=false',
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=30',
  'protocol.allow=never',
  'submodule.recurse=false',
  'transfer.fsckObjects=true',
];

/** @throws Problem */
export async function runGit(args: readonly string[], settings: GitSettings): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  await readGit(args, settings, async (output) => {
    for await (const chunk of output as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > LONGEST_OUTPUT) throw unusable('the repository has too many files');
      chunks.push(chunk);
    }
  });
  return Buffer.concat(chunks).toString('utf8').trim();
}

/** @throws Problem, or what `read` throws */
export async function readGit(
  args: readonly string[],
  settings: GitSettings,
  read: (output: Readable) => Promise<void>,
): Promise<void> {
  settings.signal.throwIfAborted();
  const child = start(args, settings);
  const ended = new Promise<{ code: number | null; missing?: boolean }>((resolve) => {
    child.once('error', () => resolve({ code: null, missing: true }));
    child.once('close', (code) => resolve({ code }));
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-LONGEST_ERROR);
  });
  const stop = (): void => {
    signalAll(child.pid, 'SIGTERM');
    const timer = setTimeout(() => signalAll(child.pid, 'SIGKILL'), GRACE);
    void ended.then(() => clearTimeout(timer));
  };
  settings.signal.addEventListener('abort', stop, { once: true });
  try {
    await read(child.stdout);
    const { code, missing } = await ended;
    if (settings.signal.aborted) throw new Problem('source_failed', 'the repository was not read in time');
    if (missing) throw unusable('git is not there: install it, or name an OCI artifact');
    if (code !== 0) throw failureOf(said);
  } finally {
    settings.signal.removeEventListener('abort', stop);
    if (child.exitCode === null && child.signalCode === null) stop();
    await ended;
  }
}

function start(args: readonly string[], settings: GitSettings): ChildProcessByStdio<null, Readable, Readable> {
  const options = [...SETTINGS, ...settings.protocols.map((name) => `protocol.${name}.allow=always`)];
  const whole = [...options.flatMap((setting) => ['-c', setting]), ...args];
  return spawn('git', whole, {
    cwd: settings.home,
    env: environmentOf(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own process group: git does not end its children.
    detached: HAS_GROUPS,
  });
}

function signalAll(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(HAS_GROUPS ? -pid : pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

function environmentOf({ searchPath, home, protocols, proxy }: GitSettings): NodeJS.ProcessEnv {
  return {
    PATH: searchPath,
    HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    GIT_SSH_COMMAND: 'false',
    GIT_ALLOW_PROTOCOL: protocols.join(':'),
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_LFS_SKIP_SMUDGE: '1',
    ...proxy,
  };
}

const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/could not read Username|Authentication failed|403/, 'the repository asks for a login, or does not exist'],
  [
    /couldn't find remote ref|not our ref|unadvertised object|Not a valid object/i,
    'there is no such branch, tag or commit',
  ],
  [
    /not found|does not appear to be a git repository|does not exist/i,
    'there is no such repository, or no such folder in it',
  ],
  [/redirect|returned error: 3\d\d/i, 'the repository has moved: write where it is now'],
  [/fsck error|bad object|corrupt/i, 'the repository has damaged objects'],
  [/dubious ownership/, 'the repository belongs to another user of this machine'],
];

/** Maps known messages of git, because their text contains remote content. */
function failureOf(said: string): Problem {
  const [, reason] = REFUSED.find(([pattern]) => pattern.test(said)) ?? [];
  if (reason !== undefined) return unusable(`name: ${reason}`);
  return new Problem('source_failed', 'the repository cannot be read', { cause: new Error(said.slice(-500)) });
}
