// Runs all tests, or the named suites (`unit`, `e2e`, `cluster`, `conformance`, `fuzz`, `property`, `soak`; `clients` only by name). Ends
// with one line of counts over all runners.
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCluster } from '../e2e/cluster/open-cluster.ts';
import { e2eLanes } from './e2e-lanes.ts';
import { inTurn, type Say } from './in-turn.ts';
import { add, type Counts, type Merged, NONE } from './merge-reports.ts';
import { ownNetwork } from './own-network.ts';
import { repeatFailed, runJest, runNode, type RunOptions, without } from './run-jest.ts';

const NETWORK = ownNetwork();
const WORKER_NETWORKS = join(import.meta.dirname, 'worker-networks.ts');
/** Minutes of each part of the soak, five together. */
const SOAK_MINUTES = { sessions: 2.5, modern: 1, replicas: 1.5 };
/** The longest part with its start. Afterwards the soak waits until idle sessions end. */
const SOAK_TRAFFIC_MS = (SOAK_MINUTES.sessions + 0.75) * 60_000;
const COUNTS = /^(\d+) passed, (\d+) failed, (\d+) skipped$/gm;

/** Returns the result of a runner without repeated tests. */
const ended = (counts: Counts): Merged => ({ counts, recovered: [] });

/** Runs a program that ends with the line of counts. */
async function runCounting(say: Say, args: string[], where?: RunOptions): Promise<Merged> {
  const { code, end } = await runNode(args, say, where);
  const [, passed = '0', failed = '0', skipped = '0'] = [...end.matchAll(COUNTS)].at(-1) ?? [];
  const counts = { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
  // A failure without a count counts as one failed test.
  return ended(code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts);
}

/** Runs the tests on a real cluster, which it starts. Without one, each test is skipped with the reason. */
async function runCluster(say: Say): Promise<Merged> {
  const startedAt = performance.now();
  const seconds = () => String(Math.round((performance.now() - startedAt) / 1000)).padStart(4);
  const { E2E_KUBECONFIG, E2E_CLUSTER, E2E_KIND_IMAGE, PATH = '' } = process.env;
  const wanted = { kubeconfig: E2E_KUBECONFIG, kind: E2E_CLUSTER === 'kind', kindImage: E2E_KIND_IMAGE };
  const cluster = await openCluster(wanted, (line) => say(`[${seconds()}s] ${line}\n`));
  if ('missing' in cluster) {
    return repeatFailed(say, [await runJest(say, ['e2e/cluster/'], { env: { E2E_NO_CLUSTER: cluster.missing } })]);
  }
  try {
    const { kubeconfig, programs = '' } = cluster;
    const where = { env: { E2E_KUBECONFIG: kubeconfig, PATH: [programs, PATH].filter(Boolean).join(delimiter) } };
    // The tests mostly wait for the cluster. Those in faults/ break it and run alone.
    const together = ['--maxWorkers=3', '--forceExit', ...without('<rootDir>/e2e/cluster/faults/')];
    const runs = [
      await runJest(say, ['e2e/cluster/', ...together], where),
      await runJest(say, ['e2e/cluster/faults/', '--runInBand', '--forceExit'], where),
    ];
    return await repeatFailed(say, runs, where);
  } finally {
    await cluster.close();
    say(`[${seconds()}s] the cluster tests are done\n`);
  }
}

/** Runs the end-to-end tests in concurrent lanes. */
async function runE2e(say: Say): Promise<Merged> {
  const where = NETWORK ? { preload: [WORKER_NETWORKS] } : {};
  const works = e2eLanes(NETWORK !== undefined).map(
    (args) => (own: Say) => runJest(own, ['--forceExit', ...args], where),
  );
  return repeatFailed(say, await inTurn(works, say), { within: NETWORK });
}

/** Runs five minutes of `make soak`, at a rate that leaves two processors idle time. Its parts run concurrently in separate networks. */
async function runSoak(say: Say): Promise<Merged> {
  const atRate = ['e2e/soak/run.ts', '--rate', '40'];
  if (NETWORK === undefined) return runCounting(say, [...atRate, '--minutes', '5']);
  const works = Object.entries(SOAK_MINUTES).map(([part, minutes]) => (own: Say) => {
    const args = [...atRate, '--part', part, '--minutes', String(minutes)];
    return runCounting(own, args, { within: NETWORK });
  });
  const parts = await inTurn(works, say);
  return ended(parts.reduce((total, { counts }) => add(total, counts), NONE));
}

/** Runs jest, and failed files once more. */
const jest = async (say: Say, args: string[]): Promise<Merged> => repeatFailed(say, [await runJest(say, args)]);

const RUNNERS: Record<string, (say: Say) => Promise<Merged>> = {
  // A failed test leaves handles open, which must not block the whole run.
  unit: (say) => jest(say, ['--maxWorkers=100%', '--forceExit', ...without('<rootDir>/e2e/')]),
  e2e: runE2e,
  cluster: runCluster,
  conformance: (say) => runCounting(say, ['e2e/conformance/run.ts']),
  // The clients are large, so they are installed only on demand.
  clients: async (say) => {
    const { code } = await runNode(['e2e/clients/install-outside.ts'], say);
    if (code !== 0) return ended({ ...NONE, failed: 1 });
    return jest(say, ['--runInBand', '--forceExit', '--testMatch', '**/e2e/clients/outside.clients.ts']);
  },
  fuzz: (say) => runCounting(say, ['e2e/fuzz/run.ts', '4']),
  soak: runSoak,
  property: (say) => runCounting(say, ['e2e/management/property/run.ts']),
};

/** Lists of suites in order; those of one list run concurrently. */
type Lane = readonly (readonly string[])[];

const SOAK: Lane = [['soak']];
/** The unit tests take all processors, so this lane awaits the end of the soak's traffic. Small suites use the time that they wait. */
const LARGE: Lane = [['unit', 'conformance', 'fuzz', 'property'], ['e2e']];
/** Stages in order; the lanes of a stage run concurrently. Without separate networks, the soak's parts follow each other. */
const STAGES: readonly (readonly Lane[])[] = [
  ...(NETWORK ? [[SOAK, LARGE]] : [[LARGE], [SOAK]]),
  [[['cluster']]],
  [[['clients']]],
];

const asked = process.argv.slice(2);
const unknown = asked.find((name) => !(name in RUNNERS));
if (unknown !== undefined) throw new Error(`no tests are called ${unknown}: write ${Object.keys(RUNNERS).join(', ')}`);
const ASKED_FOR = new Set(['clients']);
const isChosen = (name: string) => (asked.length > 0 ? asked.includes(name) : !ASKED_FOR.has(name));

/** Runs a suite. One that cannot run counts as a failed test, and the others still count. */
async function runNamed(name: string, say: Say): Promise<Merged> {
  say(`\n== ${name} tests ==\n`);
  try {
    return (await RUNNERS[name]?.(say)) ?? ended(NONE);
  } catch (problem) {
    say(`${problem instanceof Error ? (problem.stack ?? problem.message) : String(problem)}\n`);
    return ended({ ...NONE, failed: 1 });
  }
}

/** Runs the chosen suites of one lane. */
async function runLane(lane: Lane, say: Say): Promise<Merged[]> {
  const chosen = lane.map((names) => names.filter(isChosen)).filter((names) => names.length > 0);
  if (NETWORK && lane === LARGE && chosen.length > 0 && isChosen('soak')) await sleep(SOAK_TRAFFIC_MS);
  const results: Merged[] = [];
  for (const names of chosen) {
    const works = names.map((name) => (own: Say) => runNamed(name, own));
    results.push(...(await inTurn(works, say)));
  }
  return results;
}

const print: Say = (part) => void process.stdout.write(part);
// Without Python or a network, the tests with the Python SDK are skipped.
if (isChosen('soak') || isChosen('e2e')) await runNode(['e2e/sdk-servers/install-python.ts'], print);
let total = NONE;
const recovered: string[] = [];
for (const lanes of STAGES) {
  const works = lanes.map((lane) => (say: Say) => runLane(lane, say));
  const results = await inTurn(works, print);
  for (const runner of results.flat()) {
    total = add(total, runner.counts);
    recovered.push(...runner.recovered);
  }
}
console.log();
for (const line of recovered) console.log(`failed at first, passed alone: ${line}`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
