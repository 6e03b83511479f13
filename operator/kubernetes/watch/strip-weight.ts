import { defined } from '#operator/plan/defined';
import { cutDepth } from './cut-depth.ts';
import { cutValues } from './cut-values.ts';
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
