import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';

const PACKAGE = join(import.meta.dirname, '..', '..', 'node_modules', '@modelcontextprotocol', 'conformance');
const DEADLINE_MS = 8 * 60_000;

export interface SuiteResult {
  /** Scenarios that the revision requires. */
  required: string[];
  /** Later scenarios of the revision and those that the suite does not score yet, without extensions. */
  further: string[];
  passed: string[];
  /** Scenarios that failed or that the suite did not report. */
  failed: string[];
  /** Ids of the failed checks by scenario. */
  failedChecks: Readonly<Record<string, readonly string[]>>;
  /** The suite's messages for the failures. */
  details: string[];
}

type Side = 'server' | 'client';
type Requirements = Readonly<Record<Side, string[]>> & {
  readonly not_scored: Record<'scenario' | 'leg' | 'reason', string>[];
};

/** A server at a URL, or a client that is a command. */
type Tested = { readonly url: string } | { readonly command: string };

/** Returns the suite's arguments, and the prefix of its result folders. */
function argumentsOf(tested: Tested): { side: Side; prefix: string; subject: string[] } {
  if ('url' in tested) return { side: 'server', prefix: 'server-', subject: ['--url', tested.url] };
  return { side: 'client', prefix: '', subject: ['--command', tested.command] };
}

async function readRequirements(revision: string, side: Side): Promise<Pick<SuiteResult, 'required' | 'further'>> {
  const text = await readFile(join(PACKAGE, 'requirements', `${revision}.yaml`), 'utf8');
  const { not_scored, [side]: required } = parse(text) as Requirements;
  const further = not_scored.filter(({ leg, reason }) => leg === side && reason !== 'extension');
  return { required, further: further.map(({ scenario }) => scenario) };
}

/**
 * Runs the official suite.
 * @param revision a revision with a requirement set, e.g. `2026-07-28`
 * @param onScenario called when a scenario of a server begins
 */
export async function runSuite(
  tested: Tested,
  revision: string,
  onScenario: (name: string) => void = () => undefined,
): Promise<SuiteResult> {
  const { side, prefix, subject } = argumentsOf(tested);
  const { required, further } = await readRequirements(revision, side);
  const expected = [...required, ...further];
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-conformance-'));
  const program = join(PACKAGE, 'dist', 'index.js');
  const args = [program, side, ...subject, '--requirements', revision, '--output-dir', folder];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: DEADLINE_MS });
  child.stderr.resume();
  const verdicts = new Map<string, boolean>();
  const details: string[] = [];
  const failed: Record<string, string[]> = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const running = /^=== Running scenario: (\S+)/.exec(line)?.[1];
    if (running !== undefined) onScenario(running);
    const [, mark, name] = /^([✓✗]) ([\w/-]+): \d+ passed/.exec(line) ?? [];
    if (name === undefined) continue;
    verdicts.set(name, mark === '✓');
    if (mark === '✓' || !expected.includes(name)) continue;
    const checks = await failedChecks(join(folder, dirname(name)), `${prefix}${basename(name)}`);
    failed[name] = checks.map(({ id }) => id);
    details.push(line, ...checks.map(({ id, errorMessage }) => `    ${id}: ${errorMessage ?? 'failed'}`));
  }
  await rm(folder, { recursive: true, force: true });
  return {
    required,
    further,
    passed: expected.filter((name) => verdicts.get(name) === true),
    failed: expected.filter((name) => verdicts.get(name) !== true),
    failedChecks: failed,
    details,
  };
}

/** Runs one scenario of an extension, which no requirement set contains. Returns its checks, except skipped ones. */
export async function runScenario(tested: Tested, scenario: string): Promise<Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-conformance-'));
  const { side, prefix, subject } = argumentsOf(tested);
  const args = [join(PACKAGE, 'dist', 'index.js'), side, ...subject, '--scenario', scenario];
  const child = spawn(process.execPath, [...args, '--output-dir', folder], { stdio: 'ignore', timeout: DEADLINE_MS });
  await once(child, 'exit');
  const checks = await checksOf(join(folder, dirname(scenario)), `${prefix}${basename(scenario)}`);
  await rm(folder, { recursive: true, force: true });
  return checks.filter(({ status }) => status !== 'SKIPPED');
}

export interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

/** Returns the failed checks; without any, those with a warning. */
async function failedChecks(folder: string, scenario: string): Promise<Check[]> {
  const all = await checksOf(folder, scenario);
  const failed = all.filter(({ status }) => status === 'FAILURE');
  return failed.length > 0 ? failed : all.filter(({ status }) => status === 'WARNING');
}

/** Reads the checks from the files that the suite writes. */
async function checksOf(folder: string, scenario: string): Promise<Check[]> {
  const runs = (await readdir(folder)).filter((name) => name.startsWith(`${scenario}-20`));
  const all = await Promise.all(runs.map((run) => readFile(join(folder, run, 'checks.json'), 'utf8')));
  return all.flatMap((text) => JSON.parse(text) as Check[]);
}
