import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { serveIdentityProvider } from '../fakes/identity-provider/serve.ts';
import { missedTargets } from './check-targets.ts';
import { compareBridges } from './compare-bridges.ts';
import { compareLists, type ListPace } from './compare-lists.ts';
import { compareTokens, type TokenPace } from './compare-tokens.ts';
import type { Findings } from './findings.ts';
import { measureBridgedSessions } from './measure-bridged-sessions.ts';
import { startLoadGenerator, type LoadGenerator } from './load.ts';
import {
  measureIdle,
  measureSessions,
  measureSlope,
  measureStarts,
  type IdlePace,
  type SlopePace,
} from './measure-memory.ts';
import { GRID, renderReport } from './report.ts';
import { BARE, compare, type Comparison, type Pace, type Shape } from './side-by-side.ts';
import {
  startAnonymous,
  startBackends,
  startBareProxy,
  startBothBoundaries,
  startDirect,
  startOwnLogins,
  type Target,
} from './targets.ts';

const REPORT = join(import.meta.dirname, '..', '..', 'docs', 'internals', 'benchmarks.md');

/** A higher load average means that other programs use the machine. */
const BUSY = 0.7;

interface Plan {
  pace: Pace;
  openLoop: Pace;
  grid: Pace;
  tokens: TokenPace;
  lists: ListPace;
  cells: [backends: number, tools: number][];
  sessions: number;
  bridgedSessions: number;
  slope: SlopePace;
  /** Undefined: not measured, as it takes minutes. */
  idle: IdlePace | undefined;
  starts: number;
}

const FULL: Plan = {
  // Load on shared hardware changes within seconds, so there are many short rounds.
  pace: { rounds: 31, warmUpMs: 100, measureMs: 350, primeMs: 2_000 },
  openLoop: { rounds: 7, warmUpMs: 200, measureMs: 1_500, primeMs: 1_000 },
  grid: { rounds: 21, warmUpMs: 100, measureMs: 350, primeMs: 4_000 },
  tokens: { rounds: 15, warmUpMs: 100, measureMs: 500, filled: 10_000 },
  lists: { rounds: 9, principals: 201 },
  cells: [1, 5, 20].flatMap((backends) => [10, 200, 2_000].map((tools): [number, number] => [backends, tools])),
  sessions: 5_000,
  bridgedSessions: 10_000,
  slope: { warmUp: 180, seconds: 180 },
  idle: { load: 60, idle: 150 },
  starts: 5,
};

const QUICK: Plan = {
  pace: { rounds: 3, warmUpMs: 100, measureMs: 400, primeMs: 500 },
  openLoop: { rounds: 3, warmUpMs: 100, measureMs: 400, primeMs: 100 },
  grid: { rounds: 3, warmUpMs: 300, measureMs: 400, primeMs: 1_000 },
  tokens: { rounds: 3, warmUpMs: 200, measureMs: 500, filled: 2_000 },
  lists: { rounds: 3, principals: 101 },
  cells: [
    [1, 10],
    [20, 2_000],
  ],
  sessions: 1_000,
  bridgedSessions: 500,
  slope: { warmUp: 2, seconds: 10 },
  idle: undefined,
  starts: 3,
};

const SHAPES: Shape[] = [
  { title: '100 B, 32 connections', era: '2025-11-25', payload: 100, connections: 32 },
  { title: '100 B, 1 connection', era: '2025-11-25', payload: 100, connections: 1 },
  { title: '10 kB, 32 connections', era: '2025-11-25', payload: 10_000, connections: 32 },
  { title: '10 kB, 1 connection', era: '2025-11-25', payload: 10_000, connections: 1 },
  { title: '100 B, 32 connections, revision 2026-07-28', era: '2026-07-28', payload: 100, connections: 32 },
];
const OPEN_LOOP: Shape = {
  title: '500 calls a second, open loop',
  era: '2025-11-25',
  payload: 100,
  connections: 64,
  rate: 500,
};

/** Functions that close opened resources; they run in reverse order. */
type Closers = (() => Promise<void>)[];

async function closing<T>(work: (closers: Closers) => Promise<T>): Promise<T> {
  const closers: Closers = [];
  try {
    return await work(closers);
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

function say(comparison: Comparison): void {
  console.log(`\n${comparison.title}`);
  for (const row of comparison.rows) {
    const ratios =
      row.cpuRatio === undefined ? '' : ` ${row.cpuRatio.toFixed(2)}x cpu ${row.rpsRatio?.toFixed(2) ?? ''}x rps`;
    const figures = `${row.rps.toFixed(0)} rps, ${row.cpu.toFixed(1)} us a call, p50 ${row.p50.toFixed(0)}, p99 ${row.p99.toFixed(0)}`;
    const errors = row.errors > 0 ? ` ERRORS ${row.errors}: ${row.error ?? ''}` : '';
    console.log(`  ${row.name.padEnd(28)} ${figures}${ratios}${errors}`);
  }
}

async function compareServers(load: LoadGenerator, plan: Plan, withGateway: boolean): Promise<Comparison[]> {
  return closing(async (closers) => {
    const backends = await startBackends(1, 10);
    closers.push(backends.stop);
    const identity = await serveIdentityProvider({ audiences: ['backend'] });
    closers.push(() => identity.close());
    const targets: Target[] = [];
    const start = async (starting: Promise<Target>) => {
      const target = await starting;
      closers.push(target.stop);
      targets.push(target);
    };
    await start(startDirect(10));
    await start(startBareProxy(backends.urls[0] ?? ''));
    if (withGateway) {
      await start(startAnonymous(backends.urls));
      await start(startBothBoundaries(backends.urls, identity, false));
      await start(startBothBoundaries(backends.urls, identity, true));
      await start(startOwnLogins(backends.urls));
    }
    const comparisons: Comparison[] = [];
    for (const [index, shape] of [...SHAPES, OPEN_LOOP].entries()) {
      const usual = shape.rate === undefined ? plan.pace : plan.openLoop;
      // The servers are new in the first comparison.
      const pace = index === 0 ? { ...usual, primeMs: usual.primeMs * 4 } : usual;
      const comparison = await compare(load, targets, backends.pid, shape, pace);
      say(comparison);
      comparisons.push(comparison);
    }
    return comparisons;
  });
}

/** Compares all numbers of backends and tools, round after round. */
async function compareGrid(load: LoadGenerator, plan: Plan): Promise<Comparison> {
  const comparison = await closing(async (closers) => {
    const targets: Target[] = [];
    const start = async (starting: Promise<Target>, name: string) => {
      const target = await starting;
      closers.push(target.stop);
      targets.push({ ...target, name });
    };
    for (const [count, tools] of plan.cells) {
      const backends = await startBackends(count, Math.ceil(tools / count));
      closers.push(backends.stop);
      if (targets.length === 0) await start(startBareProxy(backends.urls[0] ?? ''), BARE);
      await start(startAnonymous(backends.urls), `${count} backend${count > 1 ? 's' : ''}, ${tools} tools`);
    }
    const shape: Shape = { title: GRID, era: '2025-11-25', payload: 100, connections: 32 };
    return compare(load, targets, undefined, shape, plan.grid);
  });
  say(comparison);
  return comparison;
}

async function measureGateway(load: LoadGenerator, plan: Plan): Promise<Findings['gateway']> {
  return closing(async (closers) => {
    const backends = await startBackends(1, 10);
    closers.push(backends.stop);
    const url = backends.urls[0] ?? '';
    const grid = await compareGrid(load, plan);
    const starts = await measureStarts(url, plan.starts);
    console.log('\nstarts', starts);
    const sessions = await measureSessions(url, plan.sessions);
    console.log('sessions', sessions);
    const bridgedSessions = await measureBridgedSessions(plan.bridgedSessions);
    console.log('bridged sessions', bridgedSessions);
    const slope = await measureSlope(load, url, plan.slope);
    console.log('slope', slope);
    const idle = plan.idle && (await measureIdle(load, url, plan.idle));
    if (idle) console.log('idle', idle);
    return { grid, starts, sessions, bridgedSessions, slope, idle };
  });
}

function hasNoErrors({ servers, gateway, tokens, bridges }: Findings): boolean {
  const all = [...servers, ...(gateway ? [gateway.grid] : []), ...(tokens ? [tokens] : [])];
  const parts: (readonly { errors: number }[])[] = [...all.map(({ rows }) => rows), bridges ?? []];
  return parts.every((rows) => rows.every(({ errors }) => errors === 0));
}

function meetsTargets(findings: Findings): boolean {
  const missed = missedTargets(findings);
  for (const line of missed) console.error(line);
  return missed.length === 0;
}

async function measureAll(load: LoadGenerator, plan: Plan, withGateway: boolean): Promise<Omit<Findings, 'busy'>> {
  const servers = await compareServers(load, plan, withGateway);
  if (!withGateway) return { servers, tokens: undefined, lists: undefined, bridges: undefined, gateway: undefined };
  const tokens = await compareTokens(load, plan.tokens);
  console.log('tokens', tokens);
  const lists = await compareLists(plan.lists);
  console.log('lists', lists);
  const bridges = await compareBridges(load, plan.grid);
  console.log('bridges', bridges);
  return { servers, tokens, lists, bridges, gateway: await measureGateway(load, plan) };
}

async function bench(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      'without-gateway': { type: 'boolean', default: false },
      /** Measures only the lists under policies, and prints them to the terminal only. */
      lists: { type: 'boolean', default: false },
      /** Measures only the bridges, and prints them to the terminal only. */
      bridges: { type: 'boolean', default: false },
      'slope-seconds': { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  });
  const plan = values.quick ? QUICK : FULL;
  if (values['slope-seconds'] !== undefined) plan.slope.seconds = Number(values['slope-seconds']);
  const [busy = 0] = loadavg();
  if (busy > BUSY)
    console.log(`The machine is busy (load average ${busy.toFixed(1)}): expect figures that mean little.`);
  if (values.lists) {
    console.log('lists', await compareLists(plan.lists));
    return true;
  }
  const load = startLoadGenerator();
  try {
    if (values.bridges) {
      console.log('bridges', await compareBridges(load, plan.grid));
      console.log('bridged sessions', await measureBridgedSessions(plan.bridgedSessions));
      return true;
    }
    const findings = { ...(await measureAll(load, plan, !values['without-gateway'])), busy };
    const { gateway } = findings;
    const report = await renderReport(REPORT, findings);
    if (gateway && (!values.quick || values.write)) await writeFile(REPORT, report);
    else console.log(`\n${report}`);
    // A quick run is too short for a verdict.
    return hasNoErrors(findings) && (values.quick || meetsTargets(findings));
  } finally {
    await load.stop();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.exitCode = (await bench()) ? 0 : 1;
