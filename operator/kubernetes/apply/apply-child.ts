import { Stalled, Waiting } from '#operator/errors';
import type { Log } from '#lib/log/log';
import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import { appliedAnnotation, hashOf, standsIn, withHash } from './compare-objects.ts';
import { explainRefusal, isUnreadable } from './explain-refusal.ts';
import { logWrite } from './log-write.ts';
import type { KubeObject } from '../api/object.ts';
import { controllerOf, type OwnedChildren } from '../watch/owned-children.ts';
import { childResource, FIELD_MANAGER } from '../api/resources.ts';
import { viewOfChild } from '../observe/observe-deployment.ts';
import type { ShareTexts } from '../watch/share-texts.ts';

/** A version that no object has: an apply with it creates an object or fails with 409. */
const NO_VERSION = '1';

/** Longest time for the removal of a former owner's objects. Milliseconds. */
const GARBAGE_COLLECTED = 2000;

const titleOf = ({ kind, metadata }: KubeObject) => `${kind} "${metadata.name}"`;
const placeTextOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

/** @throws Stalled if another owner has the object; Waiting if that is a former resource of the same name that is being removed */
export function checkOwner(live: KubeObject, desired: KubeObject): void {
  const owner = controllerOf(desired);
  const other = controllerOf(live);
  if (other?.uid === owner?.uid) return;
  if (other && other.kind === owner?.kind && other.name === owner.name) {
    const message = `${titleOf(live)} belongs to a former ${other.kind} of this name and is being removed`;
    throw new Waiting('FormerChildThere', message, { retryIn: GARBAGE_COLLECTED });
  }
  // Names cannot collide, so this name is from an earlier version, and its resource will release it.
  if (other && other.apiVersion === owner?.apiVersion) {
    const message = `${titleOf(live)} is a former child of ${other.kind} "${other.name}" and is being removed`;
    throw new Waiting('FormerChildThere', message, { retryIn: GARBAGE_COLLECTED });
  }
  const whose = other ? `belongs to ${other.kind} "${other.name}"` : 'was not made by the operator';
  const message = `${titleOf(live)} is already there and ${whose}: it is left as it is; remove or rename it`;
  throw new Stalled('ChildNotOurs', message);
}

/** Returns whether the object is as desired. `settled`: differences that an apply did not remove. */
function isCurrent(live: KubeObject, desired: KubeObject, apiGroup: string): boolean {
  if (live.metadata.deletionTimestamp !== undefined) return false;
  if (live.metadata.annotations?.[appliedAnnotation(apiGroup)] !== hashOf(desired)) return false;
  return standsIn(desired, live);
}

export interface ApplyContext {
  api: KubeApi;
  children: OwnedChildren;
  apiGroup: string;
  /** By uid: the applied object and the resulting one, if the API server stores other values. */
  settled: Map<string, string>;
  share?: ShareTexts;
  /** Places with a foreign object at the last attempt. */
  taken: Set<string>;
  log?: Log;
}

/** Limit of remembered places. A forgotten place costs one refused write. */
const MOST_TAKEN = 1000;

/** Returns the compared state: without the version, which changes with every status. */
function stateOf({ metadata, ...rest }: KubeObject): string {
  const { labels, annotations, ownerReferences, uid } = metadata;
  return hashOf({ ...rest, status: undefined, metadata: { labels, annotations, ownerReferences, uid } });
}

/** Returns whether the object was written. `rotated`: values of a Secret have reached their age. @throws Stalled, Waiting, ApiError */
export async function applyChild(
  desired: KubeObject,
  context: ApplyContext,
  { rotated = false } = {},
): Promise<boolean> {
  const { children, apiGroup, settled } = context;
  const live = children.at(desired) ?? (await readTaken(desired, context));
  if (live) {
    checkOwner(live, desired);
    context.taken.delete(placeTextOf(desired));
    if (isCurrent(live, desired, apiGroup)) return false;
    const uid = live.metadata.uid ?? '';
    if (settled.get(uid) === `${hashOf(desired)} ${stateOf(live)}`) return false;
  }
  const { object: written, former } = await write(withHash(desired, apiGroup), live, context);
  logWrite(context.log, desired, former, { written, apiGroup, rotated });
  children.wrote(written);
  const uid = written.metadata.uid ?? '';
  if (isCurrent(written, desired, apiGroup)) settled.delete(uid);
  else settled.set(uid, `${hashOf(desired)} ${stateOf(written)}`);
  return true;
}

interface Write {
  object: KubeObject;
  former: KubeObject | undefined;
}

async function write(object: KubeObject, live: KubeObject | undefined, context: ApplyContext): Promise<Write> {
  const { api } = context;
  const resource = childResource(object);
  // Writes only to this very object, or only a new one. An object that has appeared meanwhile is foreign.
  const guard = live ? { uid: live.metadata.uid } : { resourceVersion: NO_VERSION };
  const guarded = { ...object, metadata: { ...object.metadata, ...guard } } as KubeObject;
  try {
    const answer = await api.apply(resource, guarded, { fieldManager: FIELD_MANAGER, force: true });
    return { object: viewOfChild(answer, context.share), former: live };
  } catch (problem) {
    if (!isStatus(problem, 409) || live) throw explainRefusal(await completed(problem, object, api), titleOf(object));
  }
  return takeUp(object, context);
}

/** Returns all errors of an unreadable object, from a strict dry-run creation. */
async function completed(problem: unknown, object: KubeObject, api: KubeApi): Promise<unknown> {
  if (!isUnreadable(problem)) return problem;
  try {
    await api.create(childResource(object), object, { dryRun: true });
    return problem;
  } catch (whole) {
    return isStatus(whole, 400) ? whole : problem;
  }
}

/** Handles an existing object that is not in the cache: created just now, or without vmcp's label. */
async function takeUp(object: KubeObject, context: ApplyContext): Promise<Write> {
  const found = await read(object, context);
  remember(context.taken, placeTextOf(object));
  checkOwner(found, object);
  context.taken.delete(placeTextOf(object));
  return write(object, found, context);
}

/** Reads a known foreign object, as the watch does not report it. An apply would be a refused write each time. */
async function readTaken(object: KubeObject, context: ApplyContext): Promise<KubeObject | undefined> {
  if (!context.taken.has(placeTextOf(object))) return undefined;
  try {
    return await read(object, context);
  } catch (problem) {
    if (!isStatus(problem, 404)) throw problem;
    context.taken.delete(placeTextOf(object));
    return undefined;
  }
}

async function read(object: KubeObject, { api, share }: ApplyContext): Promise<KubeObject> {
  const { namespace, name } = object.metadata;
  const place = { name, ...(namespace !== undefined && { namespace }) };
  return viewOfChild(await api.get(childResource(object), place), share);
}

function remember(taken: Set<string>, place: string): void {
  taken.add(place);
  const [oldest] = taken;
  if (taken.size > MOST_TAKEN && oldest !== undefined) taken.delete(oldest);
}
