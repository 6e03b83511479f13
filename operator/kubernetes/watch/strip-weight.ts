import { defined } from '#operator/plan/defined';
import { cutDepth } from './cut-depth.ts';
import type { ShareTexts } from './share-texts.ts';
import type { KubeObject } from '../api/object.ts';

/** A copy of the whole object, in an annotation. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Removes unread fields, which are often the larger half of an object. Changes its argument. */
export function stripWeight(object: KubeObject, share?: ShareTexts): KubeObject {
  cutValues(cutDepth(object));
  const { metadata } = object;
  // Copies the object, as `delete` leaves an object that takes more memory than it frees.
  object.metadata = { ...without(metadata, 'managedFields'), name: metadata.name };
  if (metadata.annotations?.[LAST_APPLIED] !== undefined) {
    object.metadata.annotations = without(metadata.annotations, LAST_APPLIED);
  }
  share?.(object);
  return object;
}

/** Reduces a watched Secret or ConfigMap to name, version and owner: unread annotations and labels may have 256 kB each. */
export function placeAndOwner({ apiVersion, kind, metadata }: KubeObject, share: ShareTexts): KubeObject {
  const { name, namespace, uid, resourceVersion, ownerReferences, deletionTimestamp } = metadata;
  const kept = {
    apiVersion,
    kind,
    metadata: defined({ name, namespace, uid, resourceVersion, ownerReferences, deletionTimestamp }),
  };
  share(kept);
  return kept;
}

function without<V>(record: Record<string, V>, name: string): Record<string, V> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));
}

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
