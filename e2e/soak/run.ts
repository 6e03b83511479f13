// Runs gateways in front of servers of the official SDKs, under load and faults, for a bounded time: node
// e2e/soak/run.ts [--minutes 30] [--rate 200] [--part sessions|modern|bridges|replicas] [--idle-minutes 0]. The last line of
// the output has the counts.
import { parseArgs } from 'node:util';
import { isInstalled } from '../redis/is-installed.ts';
import { soakOneGateway, type SoakOptions } from './one-gateway.ts';
import { soakReplicas } from './replicas.ts';
import { Checks } from './report.ts';

/** Shares of the total time. */
const SHARES = { sessions: 0.4, modern: 0.1, bridges: 0.2, replicas: 0.3 };

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    rate: { type: 'string', default: '200' },
    part: { type: 'string' },
    'idle-minutes': { type: 'string', default: '0' },
  },
});
const durationMs = Number(values.minutes) * 60_000;
const rate = Number(values.rate);
const idleMs = Number(values['idle-minutes']) * 60_000;
if (!(durationMs > 0) || !(rate > 0)) throw new Error('--minutes and --rate take numbers above 0');
if (values.part !== undefined && !(values.part in SHARES)) throw new Error(`no part is called ${values.part}`);

/** Undefined: this part does not run. */
function optionsOf(part: keyof typeof SHARES): SoakOptions | undefined {
  if (values.part !== undefined) return values.part === part ? { durationMs, rate, idleMs } : undefined;
  return { durationMs: durationMs * SHARES[part], rate, idleMs };
}

const checks = new Checks();
let skipped = 0;
for (const group of ['sessions', 'modern', 'bridges'] as const) {
  const options = optionsOf(group);
  if (options) await soakOneGateway(checks, group, options);
}
const options = optionsOf('replicas');
if (options && isInstalled('redis-server')) await soakReplicas(checks, options);
else if (options) skipped += 1;
console.log(`\n${checks.passed} passed, ${checks.failed} failed, ${skipped} skipped`);
process.exit(checks.failed === 0 ? 0 : 1);
