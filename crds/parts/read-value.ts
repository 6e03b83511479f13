import type { z } from 'zod';
import { explainProblems } from './explain.ts';
import { valueAt } from './rule.ts';

/** What reads a value of unknown shape. */
export type Schema<T> = z.ZodType<T>;

/** Problems that are explained: who has mended them is told of the next ones. */
const MOST = 20;

/** Reads a value whose source has no lines. Each problem says where, what, what to do, and the nearest known name. */
export function readValue<T>(schema: Schema<T>, value: unknown): { data: T } | { problems: string[] } {
  const read = schema.safeParse(value);
  if (read.success) return { data: read.data };
  const lineOf = (path: (string | number)[]) => (valueAt(value, path.map(String)) === undefined ? undefined : 1);
  const problems = explainProblems(read.error, { file: '', lineOf, schema, most: MOST + 1 });
  const texts = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return { problems: texts.length > MOST ? [...texts.slice(0, MOST), 'and more'] : texts };
}
