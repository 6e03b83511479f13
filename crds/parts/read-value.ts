import type { z } from 'zod';
import { explainProblems } from './explain.ts';
import { valueAt } from './rule.ts';

/** What reads a value of unknown shape. */
export type Schema<T> = z.ZodType<T>;

/** Reads a value whose source has no lines. Each problem says where, what, what to do, and the nearest known name. */
export function readValue<T>(schema: Schema<T>, value: unknown): { data: T } | { problems: string[] } {
  const read = schema.safeParse(value);
  if (read.success) return { data: read.data };
  const lineOf = (path: (string | number)[]) => (valueAt(value, path.map(String)) === undefined ? undefined : 1);
  const problems = explainProblems(read.error, { file: '', lineOf, schema });
  return { problems: problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)) };
}
