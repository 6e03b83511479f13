import { readValue, type Schema } from '#crds/parts/read-value';
import { Stalled } from '../errors.ts';
import { readText, type World } from '../world.ts';
import { configMapText, type KeyReference } from './file-list.ts';

/** The block that a ConfigMap key holds as YAML or JSON. Throws `Waiting` (not there) and `Stalled` (not valid). */
export function readConfigMapBlock<T>(
  schema: Schema<T>,
  reference: KeyReference,
  field: string,
  reason: string,
  world: World,
): T {
  const text = configMapText(world, reference, field);
  const place = `${field}: ConfigMap "${reference.name}", key "${reference.key}"`;
  const read = readValue(schema, parseText(text, place, reason));
  if ('data' in read) return read.data;
  throw new Stalled(reason, `${place}: ${read.problems.join('; ')}`);
}

function parseText(text: string, place: string, reason: string): unknown {
  try {
    return readText(text);
  } catch (cause) {
    throw new Stalled(reason, `${place} is neither YAML nor JSON: write the inline block as one of them`, { cause });
  }
}
