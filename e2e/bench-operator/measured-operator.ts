import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMicros, residentBytes } from '../bench/cpu-time.ts';
import { portOf, readMetric, sumOf } from '../cluster/operator-metrics.ts';
import { type Program, startProgram } from '../gateway/start-program.ts';

export const PROGRAM = join(import.meta.dirname, '../../dist/operator.js');
const LOOK_MS = 100;
/** The operator counts as settled after so many milliseconds without a write. */
const SETTLED_MS = 1500;
const NEVER_MS = 900_000;

const WRITES = new Set(['create', 'apply', 'patch', 'update', 'delete']);

/** Requests by verb and resource, without those for the Lease. */
export type Requests = Record<string, number>;

export function countWrites(requests: Requests): number {
  return Object.entries(requests)
    .filter(([name]) => WRITES.has(name.split(' ')[0] ?? ''))
    .reduce((sum, [, value]) => sum + value, 0);
}

export function difference(after: Requests, before: Requests): Requests {
  const pairs = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value > 0));
}

interface How {
  program?: string;
  /** Flags of the operator, and of Node. */
  flags?: string[];
  node?: string[];
  env?: NodeJS.ProcessEnv;
}

/** An operator that watches all namespaces of a control plane, with measurements of its cost. */
export class MeasuredOperator {
  readonly program: Program;
  readonly startedAt = performance.now();

  constructor(kubeconfig: string, { program = PROGRAM, flags = [], node = [], env = process.env }: How = {}) {
    const own = ['--bind-address=127.0.0.1', '--health-port=0', '--metrics-port=0', '--no-leader-election'];
    const what = ['--runtime-image=vmcp-runtime:bench', `--kubeconfig=${kubeconfig}`, '--log-level=warn'];
    const args = [...node, program, ...own, ...what, '--log-level=info', ...flags];
    this.program = startProgram(process.execPath, args, env);
  }

  async requests(): Promise<Requests> {
    const counted: Requests = {};
    for (const { labels, value } of await readMetric(this.program, 'vmcp_operator_api_requests_total')) {
      const name = `${labels.verb ?? ''} ${labels.resource ?? ''}`;
      if (labels.resource !== 'leases') counted[name] = (counted[name] ?? 0) + value;
    }
    return counted;
  }

  /** Waits until the operator is idle. Returns the milliseconds from `since` until its last action. */
  async settled(since: number, atLeast = 1): Promise<number> {
    await portOf(this.program, 'metricsPort');
    let [last, lastAt] = ['', performance.now()];
    while (performance.now() - since < NEVER_MS) {
      const [depth, requests] = [await sumOf(this.program, 'vmcp_operator_queue_depth'), await this.requests()];
      const state = JSON.stringify([depth, requests]);
      if (state !== last) [last, lastAt] = [state, performance.now()];
      const quiet = performance.now() - lastAt > SETTLED_MS;
      if (quiet && depth === 0 && countWrites(requests) >= atLeast) return lastAt - since;
      await sleep(LOOK_MS);
    }
    throw new Error(`the operator does not settle: ${this.program.output()}`);
  }

  /** Returns the bytes of the heap in use, and of memory outside of the heap. */
  async heap(): Promise<{ used: number; total: number; external: number }> {
    const read = (name: string) => sumOf(this.program, `nodejs_${name}_bytes`);
    return {
      used: await read('heap_size_used'),
      total: await read('heap_size_total'),
      external: await read('external_memory'),
    };
  }

  cpuSeconds(): number {
    return cpuMicros(this.program.pid) / 1e6;
  }

  memory(): { now: number; peak: number } {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.program.pid}/status`, 'utf8'))?.[1];
    return { now: residentBytes(this.program.pid), peak: Number(peak ?? 0) * 1024 };
  }
}
