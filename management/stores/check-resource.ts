import { type KindName, OBJECTS } from '#crds/kinds/index';
import { explainSome } from '#crds/parts/explain';
import { Problem } from '../problem.ts';

/** @throws Problem `bad_request` that names the fields */
export function checkResource(document: { kind?: unknown; [field: string]: unknown }): void {
  const kind = Object.keys(OBJECTS).find((one): one is KindName => one === document.kind);
  if (!kind) throw new Problem('bad_request', 'this kind of resource is not known');
  const written = Object.fromEntries(Object.entries(document).filter(([field]) => field !== 'status'));
  const { error } = OBJECTS[kind].safeParse(written);
  if (!error) return;
  const source = { file: kind, lineOf: () => undefined, schema: OBJECTS[kind] };
  throw new Problem('bad_request', explainSome(error, source).join('. '));
}
