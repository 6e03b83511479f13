import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

interface Requirements {
  server: string[];
  not_scored: Record<'scenario' | 'leg' | 'reason', string>[];
}

async function readRequirements(revision: string): Promise<Pick<SuiteResult, 'required' | 'further'>> {
  const text = await readFile(join(PACKAGE, 'requirements', `${revision}.yaml`), 'utf8');
  const { server, not_scored } = parse(text) as Requirements;
  const further = not_scored.filter(({ leg: side, reason }) => side === 'server' && reason !== 'extension');
  return { required: server, further: further.map(({ scenario }) => scenario) };
}

/**
 * Runs the official suite against a URL.
 * @param revision a revision with a requirement set, e.g. `2026-07-28`
 * @param onScenario called when a scenario begins
 */
export async function runSuite(
  url: string,
  revision: string,
  onScenario: (name: string) => void,
): Promise<SuiteResult> {
  const { required, further } = await readRequirements(revision);
  const expected = [...required, ...further];
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-conformance-'));
  const program = join(PACKAGE, 'dist', 'index.js');
  const args = [program, 'server', '--url', url, '--requirements', revision, '--output-dir', folder];
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
    const checks = await failedChecks(folder, name);
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
export async function runScenario(url: string, scenario: string): Promise<Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-conformance-'));
  const args = [join(PACKAGE, 'dist', 'index.js'), 'server', '--url', url, '--scenario', scenario];
  const child = spawn(process.execPath, [...args, '--output-dir', folder], { stdio: 'ignore', timeout: DEADLINE_MS });
  await once(child, 'exit');
  const checks = await checksOf(folder, scenario);
  await rm(folder, { recursive: true, force: true });
  return checks.filter(({ status }) => status !== 'SKIPPED');
}

export interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

async function failedChecks(folder: string, scenario: string): Promise<Check[]> {
  return (await checksOf(folder, scenario)).filter(({ status }) => status === 'FAILURE');
}

/** Reads the checks from the files that the suite writes. */
async function checksOf(folder: string, scenario: string): Promise<Check[]> {
  const runs = (await readdir(folder)).filter((name) => name.startsWith(`server-${scenario}-20`));
  const all = await Promise.all(runs.map((run) => readFile(join(folder, run, 'checks.json'), 'utf8')));
  return all.flatMap((text) => JSON.parse(text) as Check[]);
}
