// Runs the tests, all or some (`unit`, `e2e`, `cluster`, `conformance`, `fuzz`, and only when named `clients`), and ends with one line that counts over all runners.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { z } from 'zod';
import { openCluster } from '../e2e/cluster/open-cluster.ts';

const ROOT = join(import.meta.dirname, '..');
const JEST = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
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

/** Runs node, shows its output, and returns it with the exit code. */
async function runNode(args: string[], more: Environment = {}): Promise<{ code: number; stdout: string }> {
  const env = { ...process.env, ...more };
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    stdout += part;
    process.stdout.write(part);
  });
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 1)));
  return { code, stdout };
}

/** A runner that ends badly without saying which test failed counts as one failed test. */
function withExitCode(counts: Counts, code: number): Counts {
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

/** Leaves a folder out, besides those that are always left out: the flag replaces what is configured. */
const without = (folder: string) => ['--testPathIgnorePatterns', folder, '/node_modules/', '<rootDir>/dist/'];

async function runJest(args: string[], env?: Environment): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-tests-'));
  const file = join(folder, 'report.json');
  try {
    const { code } = await runNode([...JEST, '--json', `--outputFile=${file}`, ...args], env);
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
async function runCounting(args: string[]): Promise<Counts> {
  const { code, stdout } = await runNode(args);
  const [, passed = '0', failed = '0', skipped = '0'] = [...stdout.matchAll(COUNTS)].at(-1) ?? [];
  return withExitCode({ passed: Number(passed), failed: Number(failed), skipped: Number(skipped) }, code);
}

function add(total: Counts, counts: Counts): Counts {
  const sum = (key: keyof Counts) => total[key] + counts[key];
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

/** On a real cluster, which is brought up for them. Without one they are skipped one by one, and say why. */
async function runCluster(): Promise<Counts> {
  const startedAt = performance.now();
  const seconds = () => String(Math.round((performance.now() - startedAt) / 1000)).padStart(4);
  const { E2E_KUBECONFIG, E2E_CLUSTER, PATH = '' } = process.env;
  const wanted = { kubeconfig: E2E_KUBECONFIG, kind: E2E_CLUSTER === 'kind' };
  const cluster = await openCluster(wanted, (line) => console.log(`[${seconds()}s] ${line}`));
  if ('missing' in cluster) return runJest(['e2e/cluster/'], { E2E_NO_CLUSTER: cluster.missing });
  try {
    const { kubeconfig, programs = '' } = cluster;
    const env = { E2E_KUBECONFIG: kubeconfig, PATH: [programs, PATH].filter(Boolean).join(delimiter) };
    // They mostly wait for the cluster; those that break it have it for themselves.
    const together = ['--maxWorkers=3', '--forceExit', ...without('<rootDir>/e2e/cluster/faults/')];
    const counts = await runJest(['e2e/cluster/', ...together], env);
    return add(counts, await runJest(['e2e/cluster/faults/', '--runInBand', '--forceExit', '--passWithNoTests'], env));
  } finally {
    await cluster.close();
    console.log(`[${seconds()}s] the cluster tests are done`);
  }
}

const RUNNERS: Record<string, () => Promise<Counts>> = {
  // A test that fails leaves open what it would have closed; that must not keep the whole run waiting.
  unit: () => runJest(['--forceExit', ...without('<rootDir>/e2e/')]),
  // One after the other: they start programs on ports of their own and measure time.
  e2e: () => runJest(['--runInBand', '--forceExit', 'e2e/', ...without('<rootDir>/e2e/cluster/')]),
  cluster: runCluster,
  conformance: () => runCounting(['e2e/conformance/run.ts']),
  // They are large, so they are installed only where they are asked for.
  clients: async () => {
    const { code } = await runNode(['e2e/clients/install-outside.ts']);
    if (code !== 0) return { passed: 0, failed: 1, skipped: 0 };
    return runJest(['--runInBand', '--forceExit', '--testMatch', '**/e2e/clients/outside.clients.ts']);
  },
  fuzz: () => runCounting(['e2e/fuzz/run.ts', '4']),
};

const USUAL = Object.keys(RUNNERS).filter((name) => name !== 'clients');
const chosen = process.argv.length > 2 ? process.argv.slice(2) : USUAL;
let total: Counts = { passed: 0, failed: 0, skipped: 0 };
for (const name of chosen) {
  const run = RUNNERS[name];
  if (!run) throw new Error(`no tests are called ${name}: write ${Object.keys(RUNNERS).join(', ')}`);
  console.log(`\n== ${name} tests ==`);
  total = add(total, await run());
}
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
