import { randomBytes } from 'node:crypto';
import type { Condition } from '#crds/parts/conditions';
import type { Log } from '#lib/log/log';
import type { Clock } from '#operator/queue';
import type { Manifest, ResourceKey } from '#operator/snapshot';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import { EVENTS, FIELD_MANAGER } from '../api/resources.ts';
import { findTransitions, type Transition } from './find-transitions.ts';

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
