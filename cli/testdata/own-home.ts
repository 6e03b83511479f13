import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { runCommand } from '../program.ts';

interface Said {
  code: number;
  out: string;
  err: string;
}

/** A temporary home with an empty folder of manifests. Commands run in this process, and no server runs. */
export interface OwnHome {
  path: string;
  folder: string;
  state: string;
  /** Runs a command on the folder and a state folder; `input` is piped in. */
  vmcp: (args: string[], input?: string, environment?: NodeJS.ProcessEnv) => Promise<Said>;
  /** Runs a command without naming the folder. */
  withoutFolder: (args: string[], environment?: NodeJS.ProcessEnv) => Promise<Said>;
  close: () => void;
}

/** Adds an option before `--`, as the arguments after it belong to another program. */
function withOption(args: readonly string[], name: string, value: string): string[] {
  const end = args.indexOf('--');
  const own = end === -1 ? args : args.slice(0, end);
  return [...own, name, value, ...args.slice(own.length)];
}

export function makeHome(): OwnHome {
  const path = mkdtempSync(join(tmpdir(), 'vmcp-home-'));
  const folder = join(path, 'manifests');
  const state = join(path, 'state');
  mkdirSync(folder);
  async function run(args: string[], input = '', environment: NodeJS.ProcessEnv = {}): Promise<Said> {
    const said = { out: '', err: '' };
    const stream = (which: 'out' | 'err') => ({ write: (text: string) => (said[which] += text) });
    const deps = {
      input: Readable.from(input === '' ? [] : [input]),
      out: stream('out'),
      err: stream('err'),
      environment: { HOME: path, ...environment },
      program: 'vmcp',
      self: [],
      runtime: [],
      version: '0',
      containerEngine: undefined,
    };
    return { code: await runCommand(withOption(args, '--state', state), deps, new AbortController().signal), ...said };
  }
  return {
    path,
    folder,
    state,
    vmcp: (args, input, environment) => run(withOption(args, '--folder', folder), input, environment),
    withoutFolder: (args, environment) => run(args, '', environment),
    close: () => rmSync(path, { recursive: true, force: true }),
  };
}
