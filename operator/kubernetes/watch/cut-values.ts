import type { KubeObject } from '../api/object.ts';

/** Most entries in the lists and objects of a spec or a status. The management API has the same limit for bodies. */
const MOST = 20_000;

/** Replaces values beyond the limit. No field accepts it, so the planner rejects it at its path. */
const TOO_MUCH = 'more values than are read';

const sizeOf = (value: object): number => (Array.isArray(value) ? value.length : Object.keys(value).length);

/** Changes its argument: an API server stores half a million values in an unknown field, with twenty times the memory of their text. */
export function cutValues(object: KubeObject): KubeObject {
  for (const part of ['spec', 'status'] as const) {
    const value = object[part];
    if (typeof value !== 'object' || value === null) continue;
    if (sizeOf(value) > MOST) object[part] = { [TOO_MUCH]: TOO_MUCH };
    else cutInside(value, { left: MOST - sizeOf(value) });
  }
  return object;
}

function cutInside(value: object, budget: { left: number }): void {
  for (const [key, inside] of Object.entries(value)) {
    if (typeof inside !== 'object' || inside === null) continue;
    const size = sizeOf(inside as object);
    if (size > budget.left) {
      Object.defineProperty(value, key, { value: TOO_MUCH });
      continue;
    }
    budget.left -= size;
    cutInside(inside as object, budget);
  }
}
