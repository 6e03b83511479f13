import type { KubeObject } from '../api/object.ts';

/** What stands in the lists and objects of a spec, or a status; a body of the management API has no more, either. */
const MOST = 20_000;

/** Stands for what is too much: no field has it, so the plan refuses it where it stands. */
const TOO_MUCH = 'more values than are read';

const sizeOf = (value: object): number => (Array.isArray(value) ? value.length : Object.keys(value).length);

/**
 * Takes away what has more values than a resource may: an API server keeps half a million of a field that it does not know, which
 * take twenty times as much memory as their text. Changes its argument, and returns it.
 */
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
