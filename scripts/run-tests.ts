// Runs the tests, all or some (`unit`, `e2e`, `cluster`, `conformance`, `fuzz`, `property`, and only when named `clients`), and
// ends with one line that counts over all runners. Those of a cluster run alone: they disturb what is open on this machine when it
// goes.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { z } from 'zod';
import { openCluster } from '../e2e/cluster/open-cluster.ts';
import { inTurn, type Say } from './in-turn.ts';

const ROOT = join(import.meta.dirname, '..');
const JEST = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
/** In it is the line of counts of a program that ends with one. Characters. */
const END = 2000;
const COUNTS = /^(\d+) passed, (\d+) failed, (\d+) skipped$/gm;

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

type Environment = Record<string, string>;

const Report = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  numTodoTests: z.number(),
  numRuntimeErrorTestSuites: z.number(),
});

/** Runs node, says what it says, and returns its exit code and the end of its output. */
async function runNode(args: string[], say: Say, more: Environment = {}): Promise<{ code: number; end: string }> {
  const env = { ...process.env, ...more };
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let end = '';
  child.stdout.on('data', (part: Buffer) => {
    end = (end + part.toString()).slice(-END);
    say(part);
  });
  child.stderr.on('data', say);
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 1)));
  return { code, end };
}

/** A runner that ends badly without saying which test failed counts as one failed test. */
function withExitCode(counts: Counts, code: number): Counts {
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

/** Leaves folders out, besides those that are always left out: the flag replaces what is configured. */
const without = (...folders: string[]) => ['--testPathIgnorePatterns', ...folders, '/node_modules/', '<rootDir>/dist/'];

async function runJest(say: Say, args: string[], env?: Environment): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-tests-'));
  const file = join(folder, 'report.json');
  try {
    const colors = process.stdout.isTTY ? ['--colors'] : [];
    const { code } = await runNode([...JEST, '--json', `--outputFile=${file}`, ...colors, ...args], say, env);
    const report = Report.parse(JSON.parse(readFileSync(file, 'utf8')));
    const counts = {
      passed: report.numPassedTests,
      failed: report.numFailedTests + report.numRuntimeErrorTestSuites,
      skipped: report.numPendingTests + report.numTodoTests,
    };
    return withExitCode(counts, code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A program that ends with the line of counts. */
async function runCounting(say: Say, args: string[]): Promise<Counts> {
  const { code, end } = await runNode(args, say);
  const [, passed = '0', failed = '0', skipped = '0'] = [...end.matchAll(COUNTS)].at(-1) ?? [];
  return withExitCode({ passed: Number(passed), failed: Number(failed), skipped: Number(skipped) }, code);
}

function add(total: Counts, counts: Counts): Counts {
  const sum = (key: keyof Counts) => total[key] + counts[key];
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

/** On a real cluster, which is brought up for them. Without one they are skipped one by one, and say why. */
async function runCluster(say: Say): Promise<Counts> {
  const startedAt = performance.now();
  const seconds = () => String(Math.round((performance.now() - startedAt) / 1000)).padStart(4);
  const { E2E_KUBECONFIG, E2E_CLUSTER, PATH = '' } = process.env;
  const wanted = { kubeconfig: E2E_KUBECONFIG, kind: E2E_CLUSTER === 'kind' };
  const cluster = await openCluster(wanted, (line) => say(`[${seconds()}s] ${line}\n`));
  if ('missing' in cluster) return runJest(say, ['e2e/cluster/'], { E2E_NO_CLUSTER: cluster.missing });
  try {
    const { kubeconfig, programs = '' } = cluster;
    const env = { E2E_KUBECONFIG: kubeconfig, PATH: [programs, PATH].filter(Boolean).join(delimiter) };
    // They mostly wait for the cluster; those that break it have it for themselves.
    const together = ['--maxWorkers=3', '--forceExit', ...without('<rootDir>/e2e/cluster/faults/')];
    const counts = await runJest(say, ['e2e/cluster/', ...together], env);
    return add(counts, await runJest(say, ['e2e/cluster/faults/', '--runInBand', '--forceExit'], env));
  } finally {
    await cluster.close();
    say(`[${seconds()}s] the cluster tests are done\n`);
  }
}

/** Their `vmcp up` looks for free ports by itself: two at the same time could find the same ones. */
const OWN_PORTS = 'e2e/(cli|local|management)/';

/** In two lanes at the same time; in each one after the other, as many of them start several processes. */
async function runE2e(say: Say): Promise<Counts> {
  const lane = ['--runInBand', '--forceExit'];
  const others = ['e2e/', ...without('<rootDir>/e2e/cluster/', OWN_PORTS)];
  const lanes = [[OWN_PORTS], others].map((paths) => (own: Say) => runJest(own, [...lane, ...paths]));
  return (await inTurn(lanes, say)).reduce(add);
}

const RUNNERS: Record<string, (say: Say) => Promise<Counts>> = {
  // A test that fails leaves open what it would have closed; that must not keep the whole run waiting.
  unit: (say) => runJest(say, ['--maxWorkers=100%', '--forceExit', ...without('<rootDir>/e2e/')]),
  e2e: runE2e,
  cluster: runCluster,
  conformance: (say) => runCounting(say, ['e2e/conformance/run.ts']),
  // They are large, so they are installed only where they are asked for.
  clients: async (say) => {
    const { code } = await runNode(['e2e/clients/install-outside.ts'], say);
    if (code !== 0) return { passed: 0, failed: 1, skipped: 0 };
    return runJest(say, ['--runInBand', '--forceExit', '--testMatch', '**/e2e/clients/outside.clients.ts']);
  },
  fuzz: (say) => runCounting(say, ['e2e/fuzz/run.ts', '4']),
  property: (say) => runCounting(say, ['e2e/management/property/run.ts']),
};

/** In order; those of one line run at the same time. */
const ORDER = [['unit'], ['e2e'], ['cluster'], ['conformance', 'fuzz', 'property'], ['clients']];

const asked = process.argv.slice(2);
const unknown = asked.find((name) => !(name in RUNNERS));
if (unknown !== undefined) throw new Error(`no tests are called ${unknown}: write ${Object.keys(RUNNERS).join(', ')}`);
const ASKED_FOR = new Set(['clients']);
const isChosen = (name: string) => (asked.length > 0 ? asked.includes(name) : !ASKED_FOR.has(name));

/** One that cannot be run counts as a failed test: the others still count. */
async function runNamed(name: string, say: Say): Promise<Counts> {
  say(`\n== ${name} tests ==\n`);
  try {
    return (await RUNNERS[name]?.(say)) ?? { passed: 0, failed: 0, skipped: 0 };
  } catch (problem) {
    say(`${problem instanceof Error ? (problem.stack ?? problem.message) : String(problem)}\n`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

let total: Counts = { passed: 0, failed: 0, skipped: 0 };
for (const names of ORDER) {
  const works = names.filter(isChosen).map((name) => (say: Say) => runNamed(name, say));
  const counts = await inTurn(works, (part) => process.stdout.write(part));
  total = counts.reduce(add, total);
}
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
