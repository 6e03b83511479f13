import type { LoadJob, LoadResult } from './load-job.ts';
import type { LoadGenerator } from './load.ts';
import { prepareClients, type Era } from './mcp-client.ts';
import type { Target } from './targets.ts';

export const BARE = 'bare proxy';

/** Duration and number of the measurements of each server. */
export interface Pace {
  rounds: number;
  warmUpMs: number;
  measureMs: number;
  /** Load on each server before the first round, so that V8 compiles its code. */
  primeMs: number;
}

export interface Shape {
  title: string;
  era: Era;
  /** Bytes of argument and result. */
  payload: number;
  connections: number;
  /** Calls a second; absent: as many as possible. */
  rate?: number;
}

/** Medians over the rounds. Latencies and CPU are microseconds. */
export interface Row {
  name: string;
  rps: number;
  p50: number;
  p99: number;
  /** CPU time of the server under test for each call. */
  cpu: number;
  loadCpu: number;
  backendCpu: number;
  /** Median of each round's value relative to that of the bare proxy in the same round; absent without a bare proxy. */
  rpsRatio?: number;
  cpuRatio?: number;
  errors: number;
  error: string | undefined;
}

export interface Comparison extends Shape {
  rows: Row[];
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Measures the servers alternately, round after round, so that a disturbance of the machine affects all of them. */
export async function compare(
  load: LoadGenerator,
  targets: Target[],
  backendPid: number | undefined,
  shape: Shape,
  pace: Pace,
): Promise<Comparison> {
  const { era, payload, connections, rate } = shape;
  const jobs: { target: Target; job: LoadJob }[] = [];
  for (const target of targets) {
    const tokens = target.tokens ? { tokens: target.tokens } : {};
    const clients = await prepareClients(target.url, { era, payload, count: connections, ...tokens });
    const { warmUpMs, measureMs } = pace;
    const pids = { server: target.pid, ...(backendPid !== undefined && { backend: backendPid }) };
    const speed = rate === undefined ? {} : { rate };
    jobs.push({ target, job: { port: target.port, path: '/mcp', clients, warmUpMs, measureMs, pids, ...speed } });
  }
  for (const { job } of jobs) await load.run({ ...job, warmUpMs: pace.primeMs, measureMs: 100 });
  const results = new Map<string, LoadResult[]>(targets.map(({ name }) => [name, []]));
  for (let round = 0; round < pace.rounds; round += 1) {
    for (const { target, job } of jobs) results.get(target.name)?.push(await load.run(job));
  }
  const bare = results.get(BARE);
  return { ...shape, rows: [...results].map(([name, rounds]) => summarise(name, rounds, bare)) };
}

function summarise(name: string, rounds: LoadResult[], bare: LoadResult[] | undefined): Row {
  const of = (pick: (result: LoadResult) => number) => median(rounds.map(pick));
  const ratio = (pick: (result: LoadResult) => number) =>
    bare ? median(rounds.map((result, round) => pick(result) / pick(bare[round] ?? result))) : undefined;
  const cpu = (result: LoadResult) => result.cpu.server ?? 0;
  const rpsRatio = ratio((result) => result.rps);
  const cpuRatio = ratio(cpu);
  return {
    name,
    rps: of((result) => result.rps),
    p50: of((result) => result.p50),
    p99: of((result) => result.p99),
    cpu: of(cpu),
    loadCpu: of((result) => result.cpu.load ?? 0),
    backendCpu: of((result) => result.cpu.backend ?? 0),
    ...(rpsRatio === undefined ? {} : { rpsRatio }),
    ...(cpuRatio === undefined ? {} : { cpuRatio }),
    errors: rounds.reduce((sum, result) => sum + result.errors, 0),
    error: rounds.find((result) => result.error !== undefined)?.error,
  };
}
