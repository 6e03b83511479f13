import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Say } from './in-turn.ts';
import { add, filesToRepeat, type Merged, mergeReports, NONE, Report } from './merge-reports.ts';

const ROOT = join(import.meta.dirname, '..');
const JEST = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
/** Characters that contain the final line of counts. */
const END = 2000;

/** Options of a program's process. */
export interface RunOptions {
  /** Added to the environment of this process. */
  env?: Record<string, string>;
  /** Prefix of the command. */
  within?: readonly string[] | undefined;
  /** Modules that node loads first, as absolute paths. */
  preload?: readonly string[];
}

/** Runs node and prints its output. Returns its exit code and the end of its output. */
export async function runNode(
  args: string[],
  say: Say,
  { env = {}, within = [], preload = [] }: RunOptions = {},
): Promise<{ code: number; end: string }> {
  const imports = preload.flatMap((file) => ['--import', file]);
  const [program = process.execPath, ...words] = [...within, process.execPath, ...imports, ...args];
  const options = { cwd: ROOT, env: { ...process.env, ...env } };
  const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let end = '';
  child.stdout.on('data', (part: Buffer) => {
    end = (end + part.toString()).slice(-END);
    say(part);
  });
  child.stderr.on('data', say);
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 1)));
  return { code, end };
}

/** Excludes paths in addition to the default ones, as the flag replaces the configuration. */
export const without = (...paths: string[]): string[] => [
  '--testPathIgnorePatterns',
  ...paths,
  '/node_modules/',
  '<rootDir>/dist/',
];

/** One run of jest. */
export interface Run {
  report: Report;
  /** Whether it failed without naming a failed test. */
  endedBadly: boolean;
}

/** Runs jest once. */
export async function runJest(say: Say, args: string[], where?: RunOptions): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-tests-'));
  const file = join(folder, 'report.json');
  try {
    const colors = process.stdout.isTTY ? ['--colors'] : [];
    const { code } = await runNode([...JEST, '--json', `--outputFile=${file}`, ...colors, ...args], say, where);
    const report = Report.parse(JSON.parse(readFileSync(file, 'utf8')));
    return { report, endedBadly: code !== 0 && mergeReports(ROOT, report).counts.failed === 0 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the result of jest runs. Runs the files with failures once more, alone, unless they are many. A test that then passes counts as
 * passed and is listed.
 */
export async function repeatFailed(say: Say, runs: readonly Run[], where?: RunOptions): Promise<Merged> {
  const first: Report = { testResults: runs.flatMap(({ report }) => report.testResults) };
  const files = filesToRepeat(first);
  let again: Run | undefined;
  if (files.length > 0) {
    say(`\n== once more, alone: ${files.length} files in which something failed ==\n`);
    again = await runJest(say, ['--runInBand', '--forceExit', '--runTestsByPath', ...files], where);
  }
  const merged = mergeReports(ROOT, first, again?.report);
  const endedBadly = [...runs, ...(again ? [again] : [])].filter((run) => run.endedBadly).length;
  return { ...merged, counts: add(merged.counts, { ...NONE, failed: endedBadly }) };
}
