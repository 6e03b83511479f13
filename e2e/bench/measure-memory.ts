import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gateway, GatewayOptions } from '../gateway/start-gateway.ts';
import { residentBytes } from './cpu-time.ts';
import type { LoadGenerator } from './load.ts';
import { callOnce, listTools, openSession, prepareClients } from './mcp-client.ts';
import { startAnonymousGateway } from './targets.ts';

export interface SessionCost {
  sessions: number;
  /** Bytes for each session. */
  heap: number;
  resident: number;
}

const PROBE = join(import.meta.dirname, 'report-memory.ts');
const PARALLEL = 16;
/** Sessions before the measurement begins. */
export const WARM_UP = 500;

/** Returns the live heap after a collection, and resident memory, in bytes. */
async function probe(pid: number, file: string): Promise<{ heap: number; resident: number }> {
  await rm(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (let tries = 0; tries < 500; tries += 1) {
    await sleep(20);
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    const usage = JSON.parse(text) as { heapUsed: number; rss: number };
    return { heap: usage.heapUsed, resident: usage.rss };
  }
  throw new Error('the server under test did not report its memory');
}

/** Returns the sum of all samples of a gauge. */
async function readGauge(origin: string, name: string): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  const samples = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

/** Opens one session and makes a call in it. `index`: a number for each session. */
export type OpenOne = (tool: string, index: number) => Promise<void>;

/**
 * Measures the cost of an idle session after one call. `prepare` starts nothing and returns how to open sessions. The
 * first 500 sessions warm up. `gauge`: the metric that counts open sessions. @throws Error unless all are open
 */
export async function measureCost<Served extends Pick<Gateway, 'url' | 'privateUrl' | 'pid' | 'stop'>>(
  sessions: number,
  start: (options: GatewayOptions) => Promise<Served>,
  prepare: (served: Served) => { openOne: OpenOne; token?: string | undefined },
  gauge = 'vmcp_sessions',
): Promise<SessionCost> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-bench-'));
  const file = join(folder, 'memory.json');
  const nodeOptions = ['--expose-gc', '--import', PROBE];
  const served = await start({ nodeOptions, env: { BENCH_MEMORY_FILE: file } });
  try {
    const { openOne, token } = prepare(served);
    const [tool = ''] = await listTools(served.url, await openSession(served.url, token));
    let opened = 0;
    const openMany = async (until: number) => {
      const worker = async () => {
        while (opened < until) await openOne(tool, (opened += 1));
      };
      await Promise.all(Array.from({ length: PARALLEL }, worker));
    };
    await openMany(WARM_UP);
    const before = await probe(served.pid, file);
    await openMany(WARM_UP + sessions);
    const after = await probe(served.pid, file);
    const open = await readGauge(served.privateUrl, gauge);
    // A gateway that replaced sessions would show a low cost. The listing has a session too.
    if (open < WARM_UP + sessions) throw new Error(`${open} of ${WARM_UP + sessions} sessions are open (${gauge})`);
    const cost = (pick: 'heap' | 'resident') => (after[pick] - before[pick]) / sessions;
    return { sessions, heap: cost('heap'), resident: cost('resident') };
  } finally {
    await served.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Measures the cost of an idle session: one backend, one call made, no stream open. */
export function measureSessions(backend: string, sessions: number): Promise<SessionCost> {
  return measureCost(
    sessions,
    (options) => startAnonymousGateway([backend], options),
    ({ url }) => ({ openOne: async (tool) => callOnce(url, await openSession(url), tool) }),
  );
}

/** Starts the gateway several times. Returns the milliseconds until it is ready, and the resident bytes just after. */
export async function measureStarts(
  backend: string,
  times: number,
): Promise<{ readyMs: number[]; resident: number[] }> {
  const readyMs: number[] = [];
  const resident: number[] = [];
  for (let turn = 0; turn < times; turn += 1) {
    const gateway = await startAnonymousGateway([backend]);
    readyMs.push(gateway.readyAfterMs);
    await sleep(500);
    resident.push(residentBytes(gateway.pid));
    await gateway.stop();
  }
  return { readyMs, resident };
}

/** Seconds under load before the first sample, while V8 sizes its heap, and seconds of sampling. */
export interface SlopePace {
  warmUp: number;
  seconds: number;
}

export interface Slope extends SlopePace {
  /** Bytes a minute, by least squares. */
  bytesPerMinute: number;
  startBytes: number;
  endBytes: number;
}

/** Measures the growth of resident memory under load at 32 connections. */
export async function measureSlope(
  load: LoadGenerator,
  backend: string,
  { warmUp, seconds }: SlopePace,
): Promise<Slope> {
  const gateway = await startAnonymousGateway([backend]);
  try {
    const clients = await prepareClients(gateway.url, { era: '2025-11-25', count: 32, payload: 100 });
    const port = Number(new URL(gateway.url).port);
    const job = { port, path: '/mcp', clients, warmUpMs: warmUp * 1_000, measureMs: seconds * 1_000, pids: {} };
    const samples: [second: number, bytes: number][] = [];
    const begun = performance.now();
    const timer = setInterval(() => {
      samples.push([(performance.now() - begun) / 1_000, residentBytes(gateway.pid)]);
    }, 500);
    const result = await load.run(job);
    clearInterval(timer);
    if (result.errors > 0) throw new Error(`errors under load: ${result.error ?? ''}`);
    const measured = samples.filter(([second]) => second >= warmUp);
    return {
      warmUp,
      seconds,
      bytesPerMinute: slopeOf(measured) * 60,
      startBytes: measured[0]?.[1] ?? 0,
      endBytes: measured.at(-1)?.[1] ?? 0,
    };
  } finally {
    await gateway.stop();
  }
}

/** Seconds of load, and seconds of idleness after it. */
export interface IdlePace {
  load: number;
  idle: number;
}

export interface IdleMemory extends IdlePace {
  /** Bytes. */
  beforeBytes: number;
  loadedBytes: number;
  idleBytes: number;
}

/** Measures resident memory before load at 32 connections, after it, and after idleness. */
export async function measureIdle(load: LoadGenerator, backend: string, pace: IdlePace): Promise<IdleMemory> {
  const gateway = await startAnonymousGateway([backend]);
  try {
    const clients = await prepareClients(gateway.url, { era: '2025-11-25', count: 32, payload: 10_000 });
    await sleep(3_000);
    const beforeBytes = residentBytes(gateway.pid);
    const port = Number(new URL(gateway.url).port);
    await load.run({ port, path: '/mcp', clients, warmUpMs: 1_000, measureMs: pace.load * 1_000, pids: {} });
    const loadedBytes = residentBytes(gateway.pid);
    await sleep(pace.idle * 1_000);
    return { ...pace, beforeBytes, loadedBytes, idleBytes: residentBytes(gateway.pid) };
  } finally {
    await gateway.stop();
  }
}

function slopeOf(samples: [number, number][]): number {
  const mean = (pick: 0 | 1) => samples.reduce((sum, sample) => sum + sample[pick], 0) / samples.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const covariance = samples.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const variance = samples.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return covariance / variance;
}
