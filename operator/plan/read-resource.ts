import { readValue, type Schema } from '#crds/parts/read-value';
import { Stalled } from '../errors.ts';
import type { Manifest } from '../snapshot.ts';

/** Returns the checked spec of a resource, with defaults. @throws Stalled that lists every wrong field */
export function readSpec<T>(schema: Schema<{ spec: T }>, { apiVersion, kind, metadata, spec }: Manifest): T {
  const read = readValue(schema, { apiVersion, kind, metadata, spec });
  if ('data' in read) return read.data.spec;
  throw new Stalled('InvalidSpec', `${kind} "${metadata.name}": ${read.problems.join('; ')}`);
}
