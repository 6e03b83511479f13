import { weightOf } from '../json-amounts.ts';
import { MIB } from '../memory-bounds.ts';

// Prints, for JSON texts of several shapes, the heap bytes per byte of weight after parsing.

const SHAPES: Record<string, () => object> = {
  texts: () => ({ metadata: { annotations: { note: 'x'.repeat(250_000) } } }),
  // One character beyond Latin-1 doubles the size of a text.
  'wide texts': () => ({ metadata: { annotations: { note: `€${'x'.repeat(250_000)}` } } }),
  'empty objects': () => ({ spec: { junk: Array.from({ length: 1000 }, () => ({})) } }),
  keys: () => ({ data: Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`k${at}`, ''])) }),
  numbers: () => ({ spec: { junk: new Array<number>(5000).fill(1) } }),
};

function textOf(shape: () => object): string {
  const parts: string[] = [];
  for (let length = 0; length < 8 * MIB; length += parts.at(-1)?.length ?? 0) parts.push(JSON.stringify(shape()));
  return Buffer.from(`[${parts.join(',')}]`).toString();
}

function costOf(shape: () => object): number {
  const text = textOf(shape);
  const weight = weightOf(text);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const parsed = JSON.parse(text) as unknown[];
  globalThis.gc?.();
  const cost = (process.memoryUsage().heapUsed - before) / weight;
  if (parsed.length === 0) throw new Error('nothing was parsed');
  return cost;
}

process.stdout.write(
  JSON.stringify(Object.fromEntries(Object.entries(SHAPES).map(([name, shape]) => [name, costOf(shape)]))),
);
