import { readValue, type Schema } from '#crds/parts/read-value';
import { Stalled } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import { readText, refusalOfBlock } from '../yaml-text.ts';
import { configMapText, type KeyReference } from './file-list.ts';

/** The content of a text, or its problems. Each problem states path and remedy. */
export type Read<T> = { data: T } | { problems: string[] };

/** Reads a block in YAML or JSON. If it has several forms, its value selects the schema. */
export function readBlock<T>(schema: Schema<T> | ((value: unknown) => Schema<T>), text: string): Read<T> {
  const refused = refusalOfBlock(text);
  if (refused !== undefined) return { problems: [`it is not read: ${refused}`] };
  let value: unknown;
  try {
    value = readText(text);
  } catch {
    return { problems: ['it is neither YAML nor JSON: write the inline block as one of them'] };
  }
  return readValue(typeof schema === 'function' ? schema(value) : schema, value);
}

/** Returns the block in a ConfigMap key. @throws Waiting (missing); Stalled (invalid) */
export function readConfigMapBlock<T>(
  read: (text: string) => Read<T>,
  reference: KeyReference,
  field: string,
  reason: string,
  snapshot: Snapshot,
): T {
  const found = read(configMapText(snapshot, reference, field));
  if ('data' in found) return found.data;
  const place = `${field}: ConfigMap "${reference.name}", key "${reference.key}"`;
  throw new Stalled(reason, `${place}: ${found.problems.join('; ')}`);
}
