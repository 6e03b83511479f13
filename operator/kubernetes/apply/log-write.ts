import type { Log } from '#lib/log/log';
import type { ResourceKey } from '#operator/snapshot';
import type { KubeObject } from '../api/object.ts';
import { controllerOf } from '../watch/owned-children.ts';
import { changedFields, removedFields } from './changed-fields.ts';
import { keepsPods } from './compare-objects.ts';

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
