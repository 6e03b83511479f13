import type { Log } from '#lib/log/log';
import type { ResourceKey } from '#operator/snapshot';
import type { KubeObject } from '../api/object.ts';
import { controllerOf } from '../watch/owned-children.ts';
import { keepsPods, standsIn } from './compare-objects.ts';

function fieldsOf(object: KubeObject): Record<string, string> {
  const { kind, metadata } = object;
  const namespace = metadata.namespace ?? '';
  const owner = controllerOf(object);
  return {
    object: `${kind} ${namespace}/${metadata.name}`,
    ...(owner && { resource: `${owner.kind} ${namespace}/${owner.name}` }),
  };
}

/** Logs one line for a written object: the action and the fields that differed or were removed. Never a value. */
export function logWrite(
  log: Log | undefined,
  desired: KubeObject,
  live: KubeObject | undefined,
  { written, apiGroup, rotated = false }: { written: KubeObject; apiGroup: string; rotated?: boolean },
): void {
  const about = fieldsOf(desired);
  if (!live) {
    log?.info('object applied', { ...about, reason: 'it was not there' });
    return;
  }
  if (rotated) {
    log?.info('secret rotated', { ...about, reason: 'it has reached its age' });
    return;
  }
  const fields = changedFields(desired, live);
  const reason = fields.length > 0 ? { fields } : { fields: removedFields(live, written), reason: 'no longer desired' };
  log?.info(keepsPods(desired, live, apiGroup) ? 'object changed' : 'pods rolled', { ...about, ...reason });
}

export function logRemoval(log: Log | undefined, object: KubeObject): void {
  log?.info('object deleted', { ...fieldsOf(object), reason: 'its resource does not need it any more' });
}

export function logGone(log: Log, { kind, namespace, name }: ResourceKey): void {
  const reason = 'the cluster removes the objects of a deleted resource';
  log.info('resource deleted', { resource: `${kind} ${namespace}/${name}`, reason });
}

/** Fields per line, to keep it readable. */
const NAMED = 8;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Appends a step: a key with a dot or slash in brackets, a list entry by its name. */
function step(path: string, key: string, value: unknown, isEntry: boolean): string {
  if (isEntry) return `${path}[${isObject(value) && typeof value.name === 'string' ? value.name : key}]`;
  if (/[./]/.test(key)) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

function collect(desired: unknown, live: unknown, path: string, found: string[]): void {
  if (standsIn(desired, live)) return;
  const sameShape = isObject(desired) && isObject(live) && Array.isArray(desired) === Array.isArray(live);
  if (!sameShape || (Array.isArray(desired) && desired.length !== Object.keys(live).length)) {
    found.push(path);
    return;
  }
  for (const [key, value] of Object.entries(desired))
    collect(value, live[key], step(path, key, value, Array.isArray(desired)), found);
}

/** Lists the fields of `live` that are not as desired, as paths without values. Empty if fields only have to be removed. */
export function changedFields(desired: object, live: object): string[] {
  const found: string[] = [];
  collect(desired, live, '', found);
  return nameSome(found);
}

const nameSome = (fields: string[]): string[] =>
  fields.length > NAMED ? [...fields.slice(0, NAMED), `and ${fields.length - NAMED} more`] : fields;

/** The API server writes these by itself. */
const OF_SERVER = ['metadata.managedFields', 'status'];

function collectRemoved(former: unknown, written: unknown, path: string, found: string[]): void {
  if (OF_SERVER.includes(path)) return;
  if (written === undefined) found.push(path);
  if (!isObject(former) || !isObject(written)) return;
  if (Array.isArray(former) && former.length !== Object.keys(written).length) {
    found.push(path);
    return;
  }
  for (const [key, value] of Object.entries(former))
    collectRemoved(value, written[key], step(path, key, value, Array.isArray(former)), found);
}

/** Names the fields that a write has removed, as paths without values. */
export function removedFields(former: object, written: object): string[] {
  const found: string[] = [];
  collectRemoved(former, written, '', found);
  return nameSome(found);
}
