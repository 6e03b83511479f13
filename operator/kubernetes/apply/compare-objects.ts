import { readQuantity } from '#crds/parts/quantity';
import { contentHash } from '#operator/content-hash';
import type { KubeObject } from '../api/object.ts';

/** The API server writes quantities and numbers its own way: `1000m` comes back as `1`. */
function sameScalar(desired: unknown, live: unknown): boolean {
  if (desired === live) return true;
  const number = readQuantity(desired);
  return number !== undefined && number === readQuantity(live);
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.values(value).every(isEmpty));

/**
 * Whether everything that is desired stands in the live object. What others and the API server's defaults added does not
 * count, nor does an empty value that the API server left out. Lists are compared in order, as they are written.
 */
export function standsIn(desired: unknown, live: unknown): boolean {
  if (desired === undefined) return true;
  if (typeof desired !== 'object' || desired === null) {
    return sameScalar(desired, live) || (live === undefined && isEmpty(desired));
  }
  if (typeof live !== 'object' || live === null) return live === undefined && isEmpty(desired);
  if (!Array.isArray(desired)) {
    const there = live as Record<string, unknown>;
    return Object.entries(desired).every(([key, value]) => standsIn(value, there[key]));
  }
  if (!Array.isArray(live) || live.length !== desired.length) return false;
  return desired.every((value, index) => standsIn(value, live[index]));
}

/** A value as JSON with the members of objects in order: the same text for the same value. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, inside: unknown) => {
    if (typeof inside !== 'object' || inside === null || Array.isArray(inside)) return inside;
    const entries = Object.entries(inside).filter(([, member]) => member !== undefined);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Names what was applied, so that a field which is not desired any more is noticed, too. It must not tell of secrets. */
export function hashOf({ data, ...object }: { readonly data?: unknown; readonly [field: string]: unknown }): string {
  const told = object.kind === 'Secret' && typeof data === 'object' ? Object.keys(data ?? {}).sort() : data;
  return contentHash(canonicalText({ ...object, data: told }));
}

/** Name of the annotation that holds the hash of what was applied. */
export function appliedAnnotation(apiGroup: string): string {
  return `${apiGroup}/applied`;
}

/** Hash of the pods' shape that an object asks for; undefined for what makes no pods. */
function templateHash({ spec }: KubeObject): string | undefined {
  if (typeof spec !== 'object' || spec === null || !('template' in spec)) return undefined;
  return hashOf({ template: spec.template });
}

const templateAnnotation = (apiGroup: string) => `${apiGroup}/applied-template`;

/** Whether the pods that were asked for last have the shape that is asked for now: if not, they are replaced. */
export function keepsPods(desired: KubeObject, live: KubeObject, apiGroup: string): boolean {
  return live.metadata.annotations?.[templateAnnotation(apiGroup)] === templateHash(desired);
}

/** The object with the hash of itself, and of the pods that it makes. */
export function withHash(object: KubeObject, apiGroup: string): KubeObject {
  const template = templateHash(object);
  const annotations = {
    ...object.metadata.annotations,
    [appliedAnnotation(apiGroup)]: hashOf(object),
    ...(template !== undefined && { [templateAnnotation(apiGroup)]: template }),
  };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
