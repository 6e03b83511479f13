import { parseArgs } from 'node:util';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { serveEverything, type EverythingServer } from '../fakes/everything-server/serve.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { runSuite } from './run-suite.ts';

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

async function run(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      direct: { type: 'boolean', default: false },
      revision: { type: 'string', multiple: true },
      arrangement: { type: 'string', multiple: true },
    },
  });
  const names = values.arrangement ?? Object.keys(ARRANGEMENTS).filter((name) => (name === 'direct') === values.direct);
  const totals = { passed: 0, failed: 0 };
  for (const name of names) {
    for (const revision of values.revision ?? REVISIONS) {
      console.log(`\n${name}, ${revision}`);
      const target = await ARRANGEMENTS[name]?.(OTHER[OF_CLIENT[revision] ?? 'legacy']);
      if (!target) continue;
      try {
        const result = await runSuite(target.url, revision, (scenario) => console.log(`  ${scenario}`));
        for (const line of result.details) console.log(line);
        if (result.failed.length > 0) console.log(target.output().slice(-4000));
        totals.passed += result.passed.length;
        totals.failed += result.failed.length;
        const count = (names: string[]) =>
          `${names.filter((one) => result.passed.includes(one)).length} of ${names.length}`;
        console.log(`  ${count(result.required)} required scenarios, ${count(result.further)} further ones`);
      } finally {
        await target.close();
      }
    }
  }
  console.log(`\n${totals.passed} passed, ${totals.failed} failed, 0 skipped`);
  return totals.failed === 0 && totals.passed > 0;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.exitCode = (await run()) ? 0 : 1;
