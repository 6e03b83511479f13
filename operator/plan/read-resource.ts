import { readValue, type Schema } from '#crds/parts/read-value';
import { Stalled } from '../errors.ts';
import type { Manifest } from '../world.ts';

/** The checked spec of a resource, defaults filled in. Throws `Stalled` that names each field that is wrong. */
export function readSpec<T>(schema: Schema<{ spec: T }>, { apiVersion, kind, metadata, spec }: Manifest): T {
  const read = readValue(schema, { apiVersion, kind, metadata, spec });
  if ('data' in read) return read.data.spec;
  throw new Stalled('InvalidSpec', `${kind} "${metadata.name}": ${read.problems.join('; ')}`);
}
