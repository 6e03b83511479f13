import { randomBytes } from 'node:crypto';
import type { Condition } from '#crds/parts/conditions';
import type { Log } from '#lib/log/log';
import type { Clock } from '#operator/queue';
import type { Manifest, ResourceKey } from '#operator/snapshot';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import { EVENTS, FIELD_MANAGER } from '../api/resources.ts';

/** An Event's message has at most 1024 characters. */
const LONGEST_MESSAGE = 1000;
/** Events of one object in a burst; afterwards one per interval (milliseconds). */
const EVENTS_AT_ONCE = 25;
const BETWEEN_EVENTS = 60_000;
/** Milliseconds that a condition which may resolve by itself must last before it is reported. */
const LASTS = 10_000;

interface TellerOptions {
  api: KubeApi;
  clock: Clock;
  log: Log;
  instance: string;
}

interface Held {
  transition: Transition;
  cancel: () => void;
}

interface Told {
  uid: string;
  events: number;
  eventsSince: number;
  held: Held[];
}

/** Reports transitions as Events, with a rate limit; those that may resolve by themselves only after they have lasted. */
export class TransitionTeller {
  readonly #options: TellerOptions;
  readonly #told = new Map<string, Told>();

  constructor(options: TellerOptions) {
    this.#options = options;
  }

  async tell(manifest: Manifest, before: Condition[] | undefined, after: Condition[] | undefined): Promise<void> {
    const entry = this.#entryOf(manifest);
    entry.held = entry.held.filter((held) => stillHolds(held, after));
    for (const transition of findTransitions(before, after)) {
      if (transition.mayPass) this.#hold(manifest, transition, entry);
      else await this.#create(manifest, transition, entry);
    }
  }

  forget({ kind, namespace, name }: ResourceKey): void {
    const key = `${kind}/${namespace}/${name}`;
    for (const { cancel } of this.#told.get(key)?.held ?? []) cancel();
    this.#told.delete(key);
  }

  close(): void {
    for (const { held } of this.#told.values()) for (const { cancel } of held) cancel();
    this.#told.clear();
  }

  #entryOf({ kind, metadata: { namespace, name, uid = '' } }: Manifest): Told {
    const key = `${kind}/${namespace}/${name}`;
    const known = this.#told.get(key);
    if (known?.uid === uid) return known;
    for (const { cancel } of known?.held ?? []) cancel();
    const entry: Told = { uid, events: 0, eventsSince: 0, held: [] };
    this.#told.set(key, entry);
    return entry;
  }

  #hold(manifest: Manifest, transition: Transition, entry: Told): void {
    if (entry.held.some((one) => isOf(transition, one.transition.condition))) return;
    const held: Held = {
      transition,
      cancel: this.#options.clock.after(LASTS, () => {
        entry.held = entry.held.filter((one) => one !== held);
        void this.#create(manifest, held.transition, entry);
      }),
    };
    entry.held.push(held);
  }

  async #create(manifest: Manifest, transition: Transition, entry: Told): Promise<void> {
    const { api, clock, log } = this.#options;
    if (!mayTell(entry, clock.now())) return;
    try {
      await api.create(EVENTS, renderEvent(manifest, transition, this.#options));
    } catch (problem) {
      // A failed Event must not stop the status write.
      log.debug('an event could not be written', { problem });
    }
  }
}

const isOf = ({ condition: { type, status, reason } }: Transition, other: Transition['condition']): boolean =>
  other.type === type && other.status === status && other.reason === reason;

/** Returns whether a delayed condition is still true; its message may have changed. */
function stillHolds(held: Held, conditions: Condition[] = []): boolean {
  const now = conditions.find((one) => isOf(held.transition, one));
  if (now) held.transition.message = now.message;
  else held.cancel();
  return now !== undefined;
}

function mayTell(entry: Told, now: number): boolean {
  const regained = Math.floor((now - entry.eventsSince) / BETWEEN_EVENTS);
  if (regained > 0) {
    entry.events = Math.max(0, entry.events - regained);
    entry.eventsSince = now;
  }
  if (entry.events >= EVENTS_AT_ONCE) return false;
  entry.events++;
  return true;
}

function renderEvent(
  { apiVersion, kind, metadata: { namespace, name, uid } }: Manifest,
  { type, condition: { reason }, message }: Transition,
  { clock, instance }: TellerOptions,
): KubeObject {
  const now = new Date(clock.now()).toISOString();
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, name: `${name}.${randomBytes(8).toString('hex')}` },
    involvedObject: { apiVersion, kind, namespace, name, ...(uid !== undefined && { uid }) },
    type,
    reason,
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE - 1).toWellFormed()}…` : message,
    source: { component: FIELD_MANAGER },
    reportingComponent: FIELD_MANAGER,
    reportingInstance: instance,
    firstTimestamp: now.replace(/\.\d+Z$/, 'Z'),
    lastTimestamp: now.replace(/\.\d+Z$/, 'Z'),
    count: 1,
  };
}

interface Transition {
  condition: Pick<Condition, 'type' | 'status' | 'reason'>;
  type: 'Normal' | 'Warning';
  message: string;
  /** It may resolve without a user, e.g. when later resources of the same file are applied. It is reported after it has lasted. */
  mayPass: boolean;
}

/** Conditions that are good when true; every other true condition is a warning. */
const GOOD = new Set(['Ready', 'BackendsResolved']);
/** Reasons of resources that are not ready by a user's choice. */
const WANTED = new Set(['ScaledToZero', 'NoPods', 'Suspended']);
/** Reasons of resources whose pods are starting. */
const ON_THEIR_WAY = new Set(['PodsNotMade', 'PodsNotReady', 'RuntimeNotReady', 'BackendsNotListed']);

const isTrue = ({ status }: Condition) => status === 'True';

/** Returns whether a transition is no warning. A resource that stops serving is a warning, unless its pods are being replaced. */
function isGood(condition: Condition, former: Condition | undefined, after: readonly Condition[]): boolean {
  const { type, reason } = condition;
  // A rotation ends by itself.
  if (type === 'OldSecrets') return true;
  const served = former !== undefined && isTrue(former);
  if (reason === 'SomeBackendsNotReady') return !served;
  if (type !== 'Ready' || isTrue(condition)) return GOOD.has(type) === isTrue(condition);
  const replaced = after.some((one) => one.type === 'Reconciling' && isTrue(one));
  return WANTED.has(reason) || (ON_THEIR_WAY.has(reason) && (!served || replaced));
}

/** Progress after an edit is not reported, but a failure to complete is. Ready also covers the backends. */
const isTransition = ({ type, reason }: Condition) =>
  type !== 'AllBackendsReady' && (type !== 'Reconciling' || reason === 'RolloutHangs');

const isSame = (a: Transition, b: Transition) => a.message === b.message && a.type === b.type;

/** Returns each change of a status, or of the reason of the same status, once. */
export function findTransitions(
  before: readonly Condition[] | undefined = [],
  after: readonly Condition[] | undefined = [],
): Transition[] {
  const stalled = after.find((one) => one.type === 'Stalled' && isTrue(one));
  const all = after.filter(isTransition).flatMap((condition): Transition[] => {
    const { type, status, reason, message } = condition;
    const former = before.find((one) => one.type === type);
    if (former?.status === status && former.reason === reason) return [];
    const good = isGood(condition, former, after);
    const mayPass = !good && stalled?.reason !== reason;
    return [{ condition: { type, status, reason }, type: good ? 'Normal' : 'Warning', message, mayPass }];
  });
  return all.filter((one, index) => all.findIndex((other) => isSame(one, other)) === index);
}
