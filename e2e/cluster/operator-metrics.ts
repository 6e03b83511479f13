import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../gateway/start-program.ts';

/** One series: labels to value. */
interface Sample {
  labels: Record<string, string>;
  value: number;
}

const VERBS_THAT_WRITE = new Set(['create', 'apply', 'patch', 'update', 'delete']);

/** Returns a port of an operator on this machine, from the first lines of its log. */
export async function portOf(
  operator: Program,
  which: 'healthPort' | 'metricsPort' | 'managementPort',
): Promise<number> {
  for (let waited = 0; waited < 20_000 && !operator.exited(); waited += 20) {
    const port = new RegExp(`"${which}":(\\d+)`).exec(operator.beginning())?.[1];
    if (port !== undefined) return Number(port);
    await sleep(20);
  }
  throw new Error(`the operator did not start: ${operator.output()}`);
}

/** Returns all samples of one metric of an operator; none if it does not answer any more. */
export async function readMetric(operator: Program, name: string): Promise<Sample[]> {
  const port = await portOf(operator, 'metricsPort');
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
  const lines = (await answer?.text())?.split('\n') ?? [];
  return lines.flatMap((line) => {
    const [, found, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (found !== name) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', text = '']) => [label, text]);
    return [{ labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

/** Returns the sum of the matching samples of one metric. */
export async function sumOf(
  operator: Program,
  name: string,
  counts: (labels: Record<string, string>) => boolean = () => true,
): Promise<number> {
  const samples = await readMetric(operator, name);
  return samples.filter(({ labels }) => counts(labels)).reduce((sum, { value }) => sum + value, 0);
}

/** Counts the operator's writes of anything but its Lease. */
export function countWrites(operator: Program): Promise<number> {
  return sumOf(
    operator,
    'vmcp_operator_api_requests_total',
    ({ verb = '', resource }) => VERBS_THAT_WRITE.has(verb) && resource !== 'leases',
  );
}

export async function isLeader(operator: Program): Promise<boolean> {
  return (await sumOf(operator, 'vmcp_operator_leader')) === 1;
}

/** Resolves when the operator has read all resources. */
export async function untilReady(operator: Program): Promise<void> {
  const port = await portOf(operator, 'healthPort');
  for (let waited = 0; waited < 20_000 && !operator.exited(); waited += 50) {
    if ((await fetch(`http://127.0.0.1:${port}/readyz`)).ok) return;
    await sleep(50);
  }
  throw new Error(`the operator did not get ready: ${operator.output()}`);
}
