import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentBytes } from '../bench/cpu-time.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { startGateway, type Gateway, type GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { startCallers } from './callers.ts';
import { startFaults } from './faults.ts';
import { checkLeftProcesses } from './left-processes.ts';
import { startMembers, type Group, type Member } from './members.ts';
import { Outcomes } from './outcomes.ts';
import {
  compareStates,
  connectInspector,
  readProcessState,
  toMb,
  type Inspector,
  type ProcessState,
} from './process-state.ts';
import { checkCalls, type Checks } from './report.ts';
import { openSoakClient, type ClientKind } from './soak-client.ts';
import { startTraffic, type Opening } from './traffic.ts';

export interface SoakOptions {
  durationMs: number;
  /** Calls a second. */
  rate: number;
  /** Time without traffic at the end, after which the resident memory is printed. */
  idleMs: number;
}

export const CANCELS_PER_SECOND = 4;
export const KILL_EVERY_MS = 20_000;
const HANG_MS = 100_000;
const WARM_UP_MS = 20_000;
/** Longer than a minute, in which the gateway evicts no session for another. */
const SESSION_IDLE_MS = 90_000;
/**
 * Fewer sessions than are abandoned within SESSION_IDLE_MS, so that some are evicted. A lower concurrency limit than
 * the calls cancelled at a member in some minutes, so that leaked slots show.
 */
export const LIMITS = {
  limits: { session_idle: `${SESSION_IDLE_MS / 1000}s`, sessions_per_principal: 40 },
  operational: { concurrency: { per_backend: 64 } },
};
export const LASTING: readonly ClientKind[] = [
  ...Array<ClientKind>(6).fill('old'),
  ...Array<ClientKind>(4).fill('new'),
  ...Array<ClientKind>(2).fill('old-sse'),
];
/** 200 sessions, half of them of 2026-07-28. */
const LASTING_BRIDGED: readonly ClientKind[] = [
  ...Array<ClientKind>(100).fill('modern'),
  ...Array<ClientKind>(50).fill('old'),
  ...Array<ClientKind>(50).fill('new'),
];

/** The gateway of a group. */
interface GroupPlan {
  readonly title: string;
  readonly lasting: readonly ClientKind[];
  /** Number of principals. 0: all callers are anonymous. */
  readonly principals: number;
  readonly limits?: GatewayConfig['limits'];
}

const PLANS: Readonly<Record<Group, GroupPlan>> = {
  sessions: { title: 'a gateway with sessions', lasting: LASTING, principals: 0 },
  modern: { title: 'a gateway of 2026-07-28', lasting: Array<ClientKind>(8).fill('modern'), principals: 0 },
  // All sessions open again at the same time at a member that was killed.
  bridges: {
    title: 'a gateway with bridges',
    lasting: LASTING_BRIDGED,
    principals: 8,
    limits: { ...LIMITS.limits, list_deadline: '30s' },
  },
};
const SETTLE_MS = SESSION_IDLE_MS + 60_000;
/** Half of the deadline for a hanging member that each new session used up before a fix. */
const OPENING_MORE_MS = 2_500;

/** Runs one gateway while members are killed, and one of them hangs. */
export async function soakOneGateway(checks: Checks, group: Group, options: SoakOptions): Promise<void> {
  const { durationMs, rate, idleMs } = options;
  const { title: part, lasting, principals, limits = LIMITS.limits } = PLANS[group];
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-soak-'));
  const members = await startMembers(group, folder, ['steady', 'killed', 'hanging']);
  const inspectorPort = await findFreePort();
  const callerSet = await startCallers(principals);
  const { incoming, callers } = callerSet;
  const gateway = await startGateway(
    {
      incoming,
      backends: members.map(({ backend }) => backend),
      proxy_mode: 'sse',
      ...LIMITS,
      limits,
    },
    { nodeOptions: [`--inspect=127.0.0.1:${inspectorPort}`] },
  );
  const inspector = await connectInspector(inspectorPort);
  const outcomes = new Outcomes();
  const traffic = (abandons: boolean) =>
    startTraffic({
      ...{ url: new URL(gateway.url), members, outcomes, rate, abandons, lasting, callers },
      cancelsPerSecond: CANCELS_PER_SECOND,
    });
  try {
    await untilAllAnswer(gateway, members, group === 'modern' ? 'modern' : 'old', callers[0]);
    const { descriptors, rss } = await readProcessState(gateway, inspector);
    const warmUp = await traffic(false);
    await sleep(Math.min(WARM_UP_MS, durationMs / 6));
    await warmUp.stop();
    // The warm-up has compiled code and filled caches. The start state excludes its connections.
    const start = { ...(await settled(gateway, inspector, undefined)), descriptors };
    const running = await traffic(true);
    const hangMs = Math.min(HANG_MS, durationMs / 3);
    const faults = startFaults(members, outcomes, { killEveryMs: KILL_EVERY_MS, hangMs, hangAfterMs: durationMs / 5 });
    await sleep(durationMs);
    let problem: string | undefined;
    await faults.stop().catch((error: unknown) => {
      problem = String(error);
    });
    checks.check(`${part}: each member comes back`, problem);
    await sleep(5_000);
    await running.stop();
    checkCalls(checks, part, members, outcomes);
    const hanging = members.filter(({ role }) => role === 'hanging');
    const isHanging = (at: number) => hanging.some(({ name }) => outcomes.wasDown(name, at));
    checkOpenings(checks, part, running.openings, isHanging);
    const end = await settled(gateway, inspector, start);
    for (const [name, left] of Object.entries(compareStates(start, end))) {
      checks.check(`${part}: ${name} return to what they were`, left);
    }
    console.log(`  start ${describe(start)}\n  end   ${describe(end)}; ${running.cancelled()} calls were cancelled`);
    if (idleMs > 0) console.log(`  ${await describeIdle(gateway, rss, idleMs)}`);
  } finally {
    inspector.close();
    await gateway.stop();
    await Promise.all([callerSet.close(), ...members.map((member) => member.stop())]);
    await checkLeftProcesses(checks, part, folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Waits until a new session reaches each member. */
export async function untilAllAnswer(
  { url }: Pick<Gateway, 'url'>,
  members: readonly Member[],
  kind: ClientKind,
  caller?: Record<string, string>,
): Promise<void> {
  const client = await openSoakClient(kind, new URL(url), caller);
  for (const { name } of members) {
    await until(
      `an answer of ${name}`,
      async () => (await client.call(`${name}_echo`, { text: 'x' })).isError !== true,
    );
  }
  await client.end();
}

/** Waits, at most for the lifetime of its sessions, until the gateway holds no more than at the start. */
async function settled(gateway: Gateway, inspector: Inspector, start: ProcessState | undefined): Promise<ProcessState> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const state = await readProcessState(gateway, inspector);
    const isSettled = start
      ? Object.values(compareStates(start, state)).every((left) => left === undefined)
      : state.sessions === 0;
    if (isSettled || performance.now() > deadline) return state;
    await sleep(2_000);
  }
}

/** Compares the new sessions during a hang with the others, so that the speed of the machine does not matter. */
function checkOpenings(
  checks: Checks,
  part: string,
  openings: readonly Opening[],
  isHanging: (at: number) => boolean,
): void {
  const median = (chosen: readonly Opening[]) => {
    const sorted = chosen.map(({ took }) => took).sort((one, other) => one - other);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  };
  const meanwhile = median(openings.filter(({ began }) => isHanging(began)));
  const otherwise = median(openings.filter(({ began }) => !isHanging(began)));
  const times = `median ${meanwhile.toFixed(0)} ms, otherwise ${otherwise.toFixed(0)} ms`;
  const problem = meanwhile > 3 * otherwise + OPENING_MORE_MS ? 'they wait for it' : undefined;
  checks.check(`${part}: new sessions do not wait for a member that hangs (${times})`, problem);
}

/** Describes the resident memory after some time without traffic, and that before all traffic. */
async function describeIdle({ pid }: Gateway, before: number, idleMs: number): Promise<string> {
  const loaded = residentBytes(pid);
  await sleep(idleMs);
  const idle = residentBytes(pid);
  const ratio = (idle / before).toFixed(2);
  return `RSS ${toMb(before)} MB before the traffic, ${toMb(loaded)} MB after it, ${toMb(idle)} MB after ${idleMs / 60_000} idle minutes: ${ratio} times`;
}

const describe = ({ sessions, descriptors, heap, rss, places }: ProcessState): string =>
  `${sessions} sessions, ${descriptors} descriptors, heap ${toMb(heap)} MB, RSS ${toMb(rss)} MB, ${JSON.stringify(places)}`;
