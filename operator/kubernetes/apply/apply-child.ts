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

/** No object has it: an apply that carries it makes a new object or fails with 409. */
const NO_VERSION = '1';

/** How long a former owner's objects may need to go. Milliseconds. */
const GARBAGE_COLLECTED = 2000;

const titleOf = ({ kind, metadata }: KubeObject) => `${kind} "${metadata.name}"`;
const placeTextOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

/**
 * An object of that name that somebody else made stays as it is. Throws `Stalled`, or `Waiting` where it belongs to a former
 * resource of the same name, which is being removed.
 */
export function checkOwner(live: KubeObject, desired: KubeObject): void {
  const owner = controllerOf(desired);
  const other = controllerOf(live);
  if (other?.uid === owner?.uid) return;
  if (other && other.kind === owner?.kind && other.name === owner.name) {
    const message = `${titleOf(live)} belongs to a former ${other.kind} of this name and is being removed`;
    throw new Waiting('FormerChildThere', message, { retryIn: GARBAGE_COLLECTED });
  }
  // Names cannot collide, so it is a name of an earlier version, and its resource is about to give it up.
  if (other && other.apiVersion === owner?.apiVersion) {
    const message = `${titleOf(live)} is a former child of ${other.kind} "${other.name}" and is being removed`;
    throw new Waiting('FormerChildThere', message, { retryIn: GARBAGE_COLLECTED });
  }
  const whose = other ? `belongs to ${other.kind} "${other.name}"` : 'was not made by the operator';
  const message = `${titleOf(live)} is already there and ${whose}: it is left as it is; remove or rename it`;
  throw new Stalled('ChildNotOurs', message);
}

/** Whether the object stands as desired. `settled` holds differences that an apply did not remove. */
function isCurrent(live: KubeObject, desired: KubeObject, apiGroup: string): boolean {
  if (live.metadata.deletionTimestamp !== undefined) return false;
  if (live.metadata.annotations?.[appliedAnnotation(apiGroup)] !== hashOf(desired)) return false;
  return standsIn(desired, live);
}

export interface ApplyContext {
  api: KubeApi;
  children: OwnedChildren;
  apiGroup: string;
  /** By uid: what was applied, and what stood then, where the API server keeps something else than what is desired. */
  settled: Map<string, string>;
  share?: ShareTexts;
  /** Where an object of somebody else stood at the last attempt. */
  taken: Set<string>;
  log?: Log;
}

/** So many places are remembered: one that is forgotten costs a refused write. */
const MOST_TAKEN = 1000;

/** What counts for a difference: not the version, which changes with every status. */
function stateOf({ metadata, ...rest }: KubeObject): string {
  const { labels, annotations, ownerReferences, uid } = metadata;
  return hashOf({ ...rest, status: undefined, metadata: { labels, annotations, ownerReferences, uid } });
}

/**
 * Makes one object as desired. Returns whether it was written, which is logged; `rotated`: values of a Secret have reached their age.
 * Throws `Stalled`, `Waiting` and ApiErrors.
 */
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
  logWrite(context.log, desired, former, { apiGroup, rotated });
  children.wrote(written);
  const uid = written.metadata.uid ?? '';
  if (isCurrent(written, desired, apiGroup)) settled.delete(uid);
  else settled.set(uid, `${hashOf(desired)} ${stateOf(written)}`);
  return true;
}

/** What stands after a write, and what stood before; undefined where nothing did. */
interface Write {
  object: KubeObject;
  former: KubeObject | undefined;
}

async function write(object: KubeObject, live: KubeObject | undefined, context: ApplyContext): Promise<Write> {
  const { api } = context;
  const resource = childResource(object);
  // Only that very object; or only a new one: what appeared meanwhile is somebody else's.
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

/** What is wrong with an object that cannot be read, in full: a strict creation of which nothing is stored says it. */
async function completed(problem: unknown, object: KubeObject, api: KubeApi): Promise<unknown> {
  if (!isUnreadable(problem)) return problem;
  try {
    await api.create(childResource(object), object, { dryRun: true });
    return problem;
  } catch (whole) {
    return isStatus(whole, 400) ? whole : problem;
  }
}

/** There is one that the cache does not have: made a moment ago, or without our label. */
async function takeUp(object: KubeObject, context: ApplyContext): Promise<Write> {
  const found = await read(object, context);
  remember(context.taken, placeTextOf(object));
  checkOwner(found, object);
  context.taken.delete(placeTextOf(object));
  return write(object, found, context);
}

/** Nobody tells of foreign objects. Who is known to stand in the way is read: an apply would be a refused write each time. */
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
