import type { z } from 'zod';
import { explainProblems } from './explain.ts';
import { valueAt } from './rule.ts';

export type Schema<T> = z.ZodType<T>;

/** Most explained problems. The next ones appear after these are fixed. */
const MOST = 20;

/** Parses a value without source lines. Each problem states the path, the fault, the remedy and the nearest known name. */
export function readValue<T>(schema: Schema<T>, value: unknown): { data: T } | { problems: string[] } {
  const read = schema.safeParse(value);
  if (read.success) return { data: read.data };
  const lineOf = (path: (string | number)[]) => (valueAt(value, path.map(String)) === undefined ? undefined : 1);
  const problems = explainProblems(read.error, { file: '', lineOf, schema, most: MOST + 1 });
  const texts = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return { problems: texts.length > MOST ? [...texts.slice(0, MOST), 'and more'] : texts };
}
