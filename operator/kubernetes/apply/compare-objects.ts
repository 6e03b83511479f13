import { readQuantity } from '#crds/parts/quantity';
import { contentHash } from '#operator/content-hash';
import type { KubeObject } from '../api/object.ts';

/** Compares scalars. The API server normalises quantities and numbers: `1000m` becomes `1`. */
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

/** Returns whether the live object has all desired values. Ignores additions and dropped empty values; compares lists in order. */
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

/** Returns a value as JSON with sorted members: the same text for the same value. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, inside: unknown) => {
    if (typeof inside !== 'object' || inside === null || Array.isArray(inside)) return inside;
    const entries = Object.entries(inside).filter(([, member]) => member !== undefined);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Returns the hash of an applied object, which also reveals a field that is no longer desired. It must not depend on values of secrets. */
export function hashOf({ data, ...object }: { readonly data?: unknown; readonly [field: string]: unknown }): string {
  const told = object.kind === 'Secret' && typeof data === 'object' ? Object.keys(data ?? {}).sort() : data;
  return contentHash(canonicalText({ ...object, data: told }));
}

export function appliedAnnotation(apiGroup: string): string {
  return `${apiGroup}/applied`;
}

function templateHash({ spec }: KubeObject): string | undefined {
  if (typeof spec !== 'object' || spec === null || !('template' in spec)) return undefined;
  return hashOf({ template: spec.template });
}

const templateAnnotation = (apiGroup: string) => `${apiGroup}/applied-template`;

/** Returns whether the pod template equals the last applied one. If not, the pods are replaced. */
export function keepsPods(desired: KubeObject, live: KubeObject, apiGroup: string): boolean {
  return live.metadata.annotations?.[templateAnnotation(apiGroup)] === templateHash(desired);
}

export function withHash(object: KubeObject, apiGroup: string): KubeObject {
  const template = templateHash(object);
  const annotations = {
    ...object.metadata.annotations,
    [appliedAnnotation(apiGroup)]: hashOf(object),
    ...(template !== undefined && { [templateAnnotation(apiGroup)]: template }),
  };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
