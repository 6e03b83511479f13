import { parseArgs } from 'node:util';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { serveEverything, type EverythingServer } from '../fakes/everything-server/serve.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { OF_CREDENTIALS } from './drive-credentials.ts';
import { serveDriver } from './drive-scenario.ts';
import { ACROSS_REVISIONS, AS_CLIENT } from './expected-failures.ts';
import { runScenario, runSuite, type SuiteResult } from './run-suite.ts';
import { runTasks } from './run-tasks.ts';

const REVISIONS = ['2025-11-25', '2026-07-28'];

/** A URL to test, with a function that stops its server. */
interface Target {
  url: string;
  output: () => string;
  close(): Promise<void>;
}

const backend = (name: string, server: EverythingServer): RunConfigDocument['backends'][number] => ({
  name,
  transport: 'streamable-http',
  url: server.url,
});

type Era = 'legacy' | 'modern';
const OF_CLIENT: Readonly<Record<string, Era>> = { '2025-11-25': 'legacy', '2026-07-28': 'modern' };
const OTHER: Readonly<Record<Era, Era>> = { legacy: 'modern', modern: 'legacy' };

/** Counts a scenario as passed if it fails in the expected way. */
function asExpected(
  { passed, failed, failedChecks }: SuiteResult,
  expected: Readonly<Record<string, readonly string[]>>,
): { passed: string[]; failed: string[] } {
  const isExpected = (name: string) =>
    JSON.stringify([...new Set(failedChecks[name])].sort()) === JSON.stringify(expected[name]);
  const fails = failed.filter((name) => !isExpected(name));
  const passes = passed.filter((name) => name in expected);
  for (const name of passes) console.log(`  ${name} passes now: take it off the list of expected failures`);
  return { passed: [...passed, ...failed.filter(isExpected)], failed: [...fails, ...passes] };
}

async function direct(): Promise<Target> {
  const server = await serveEverything();
  return { url: server.url, output: () => '', close: () => server.close() };
}

async function throughGateway(
  servers: EverythingServer[],
  aggregation: RunConfigDocument['aggregation'],
): Promise<Target> {
  const closeServers = async () => {
    await Promise.all(servers.map((server) => server.close()));
  };
  const backends = servers.map((server, index) => backend(['first', 'second'][index] ?? 'more', server));
  try {
    const gateway = await startGateway({ incoming: { type: 'anonymous' }, backends, aggregation });
    const close = async () => {
      await gateway.stop();
      await closeServers();
    };
    return { url: gateway.url, output: gateway.output, close };
  } catch (error) {
    await closeServers();
    throw error;
  }
}

const ALONE = { conflict_resolution: 'prefix', prefix_format: '' } as const;
const FIRST_WINS = { conflict_resolution: 'priority' as const, priority_order: ['first', 'second'] };

/** `other`: the era that the client does not speak. */
const ARRANGEMENTS: Record<string, (other: Era) => Promise<Target>> = {
  direct,
  'one backend': async () => throughGateway([await serveEverything()], ALONE),
  // The second backend has the same names and refuses every call: a misrouted call fails its scenario.
  'two backends, every name collides': async () =>
    throughGateway([await serveEverything(), await serveEverything({ refusesCalls: true })], FIRST_WINS),
  'one backend of the other era': async (era) => throughGateway([await serveEverything({ era })], ALONE),
  'two backends of the other era, every name collides': async (era) =>
    throughGateway([await serveEverything({ era }), await serveEverything({ era, refusesCalls: true })], FIRST_WINS),
};

/** The suite's scenarios for clients: the gateway is the client of the suite's server. */
const AS_CLIENT_OF = 'client of the suite';

/** Runs the suite once. Returns the numbers of passed and failed scenarios. */
async function runOne(name: string, revision: string): Promise<{ passed: number; failed: number }> {
  console.log(`\n${name}, ${revision}`);
  return name === AS_CLIENT_OF ? runClient(revision) : runServer(name, revision);
}

async function runServer(name: string, revision: string): Promise<{ passed: number; failed: number }> {
  const era = OF_CLIENT[revision] ?? 'legacy';
  const target = await ARRANGEMENTS[name]?.(OTHER[era]);
  if (!target) throw new Error(`no arrangement is called ${name}`);
  try {
    const whole = await runSuite(target, revision, (scenario) => console.log(`  ${scenario}`));
    const isBridged = name.includes('other era') && era === 'modern';
    const counted = report(whole, isBridged ? ACROSS_REVISIONS : {});
    if (counted.failed > 0) console.log(target.output().slice(-4000));
    return counted;
  } finally {
    await target.close();
  }
}

async function runClient(revision: string): Promise<{ passed: number; failed: number }> {
  const driver = await serveDriver(revision);
  try {
    const { passed, failed } = report(await runSuite(driver, revision), AS_CLIENT[revision] ?? {});
    const refused = await runCredentials(driver);
    return { passed: passed + CREDENTIALS.length - refused, failed: failed + refused };
  } finally {
    driver.close();
  }
}

const CREDENTIALS = Object.keys(OF_CREDENTIALS);

/** Runs the scenarios for credentials of extensions. Returns the number of those that failed. */
async function runCredentials(driver: { readonly command: string }): Promise<number> {
  let failed = 0;
  for (const scenario of CREDENTIALS) {
    const checks = await runScenario(driver, scenario);
    const faults = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    const isGood = faults.length === 0 && checks.some(({ status }) => status === 'SUCCESS');
    if (!isGood) failed += 1;
    for (const { id, errorMessage } of faults) console.log(`    ${id}: ${errorMessage ?? 'failed'}`);
    console.log(`  ${scenario}: ${isGood ? 'passed' : 'failed'}`);
  }
  return failed;
}

function report(whole: SuiteResult, expected: Parameters<typeof asExpected>[1]): { passed: number; failed: number } {
  const { passed, failed } = asExpected(whole, expected);
  for (const line of whole.details) console.log(line);
  const count = (names: string[]) => `${names.filter((one) => whole.passed.includes(one)).length} of ${names.length}`;
  const exactly = passed.length - whole.passed.length;
  const also = exactly > 0 ? `; ${exactly} failed exactly as they must` : '';
  console.log(`  ${count(whole.required)} required scenarios, ${count(whole.further)} further ones${also}`);
  return { passed: passed.length, failed: failed.length };
}

async function run(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      direct: { type: 'boolean', default: false },
      revision: { type: 'string', multiple: true },
      arrangement: { type: 'string', multiple: true },
    },
  });
  const usual = [...Object.keys(ARRANGEMENTS), AS_CLIENT_OF].filter((name) => (name === 'direct') === values.direct);
  const totals = { passed: 0, failed: 0 };
  for (const name of values.arrangement?.filter((one) => !one.startsWith('tasks')) ?? usual) {
    for (const revision of values.revision ?? REVISIONS) {
      const { passed, failed } = await runOne(name, revision);
      totals.passed += passed;
      totals.failed += failed;
    }
  }
  console.log(`\n${totals.passed} passed, ${totals.failed} failed, 0 skipped`);
  const hasTasks = await runTasks(
    (name) => values.arrangement?.includes(name) ?? name.endsWith('direct') === values.direct,
  );
  return totals.failed === 0 && hasTasks;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.exitCode = (await run()) ? 0 : 1;
