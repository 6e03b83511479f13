import { randomBytes } from 'node:crypto';
import type { Status } from '#crds/kinds/status';
import type { Log } from '#operator/log';
import type { Clock } from '#operator/queue';
import type { Manifest, ResourceKey } from '#operator/world';
import { type ApiError, isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import { FIELD_MANAGER } from '../apply/apply-child.ts';
import { canonicalText } from '../apply/compare-objects.ts';
import { findTransitions, type Transition } from './find-transitions.ts';
import type { KubeObject } from '../api/object.ts';
import { EVENTS, ownResource } from '../api/resources.ts';

/** Milliseconds between two writes of one status: back-references of a busy group must not write all day. */
const BETWEEN_WRITES = 1000;
/** An Event's message has at most 1024 characters. */
const LONGEST_MESSAGE = 1000;
/** Events of one object in a row; after that one in so many milliseconds. */
const EVENTS_AT_ONCE = 25;
const BETWEEN_EVENTS = 60_000;

interface StatusWriterOptions {
  api: KubeApi;
  apiGroup: string;
  clock: Clock;
  log: Log;
  /** Name of this process in Events. */
  instance: string;
  /** The object with its new status, as the API server answered. */
  wrote: (object: KubeObject) => void;
  /** A write that had to wait has failed: to be tried again. */
  failed: (manifest: Manifest, problem: unknown) => void;
}

interface Written {
  uid: string;
  /** When the last write was, milliseconds since the epoch. */
  at: number;
  /** What was last written that the API server keeps otherwise than as written. */
  settled: string | undefined;
  /** What the API server last refused to take. */
  refused: string | undefined;
  pending: { cancel: () => void } | undefined;
  events: number;
  eventsSince: number;
}

/** The only writer of statuses: writes what differs, at most once a second for each object, and tells transitions as Events. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #written = new Map<string, Written>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** `manifest` is the object with the status that stands. Resolves at once where the write has to wait. */
  async write(manifest: Manifest, status: Status): Promise<void> {
    const entry = this.#entryOf(manifest);
    entry.pending?.cancel();
    entry.pending = undefined;
    if (this.#stands(manifest, status, entry)) return;
    const wait = entry.at + BETWEEN_WRITES - this.#options.clock.now();
    if (wait <= 0) {
      await this.#writeNow(manifest, status, entry);
      return;
    }
    const cancel = this.#options.clock.after(wait, () => {
      entry.pending = undefined;
      this.#writeNow(manifest, status, entry).catch((problem: unknown) => this.#options.failed(manifest, problem));
    });
    entry.pending = { cancel };
  }

  forget({ kind, namespace, name }: ResourceKey): void {
    const key = `${kind}/${namespace}/${name}`;
    this.#written.get(key)?.pending?.cancel();
    this.#written.delete(key);
  }

  close(): void {
    for (const { pending } of this.#written.values()) pending?.cancel();
    this.#written.clear();
  }

  #entryOf({ kind, metadata: { namespace, name, uid = '' } }: Manifest): Written {
    const key = `${kind}/${namespace}/${name}`;
    const known = this.#written.get(key);
    if (known?.uid === uid) return known;
    known?.pending?.cancel();
    const entry: Written = {
      uid,
      at: 0,
      settled: undefined,
      refused: undefined,
      pending: undefined,
      events: 0,
      eventsSince: 0,
    };
    this.#written.set(key, entry);
    return entry;
  }

  #stands(manifest: Manifest, status: Status, { settled }: Written): boolean {
    const text = canonicalText(status);
    return canonicalText(manifest.status) === text || settled === `${text} ${canonicalText(manifest.status)}`;
  }

  async #writeNow(manifest: Manifest, status: Status, entry: Written): Promise<void> {
    const { api, apiGroup, clock, wrote } = this.#options;
    const { apiVersion, kind, metadata } = manifest;
    const { namespace, name, uid } = metadata;
    entry.at = clock.now();
    const object = { apiVersion, kind, metadata: { namespace, name, ...(uid !== undefined && { uid }) }, status };
    const transitions = findTransitions((manifest.status as Status | undefined)?.conditions, status.conditions);
    try {
      const answer = await api.apply(ownResource(kind, apiGroup), object, {
        fieldManager: FIELD_MANAGER,
        force: true,
        subresource: 'status',
      });
      const kept = canonicalText(answer.status);
      entry.settled = kept === canonicalText(status) ? undefined : `${canonicalText(status)} ${kept}`;
      wrote(answer);
    } catch (problem) {
      // It has gone meanwhile, or one of the same name has taken its place.
      if (isStatus(problem, 404, 409)) return;
      const text = canonicalText(status);
      if (isStatus(problem, 422) && !isOfAnother(problem) && entry.refused !== text) {
        // Older API servers take no status of what was written under older rules: an Event is the only way left to say it.
        entry.refused = text;
        await this.#tell(manifest, transitions, entry);
      }
      throw problem;
    }
    await this.#tell(manifest, transitions, entry);
  }

  async #tell(manifest: Manifest, transitions: Transition[], entry: Written): Promise<void> {
    const { api, clock, log } = this.#options;
    for (const transition of transitions) {
      if (!mayTell(entry, clock.now())) return;
      try {
        await api.create(EVENTS, renderEvent(manifest, transition, this.#options));
      } catch (problem) {
        // News that nobody hears do not stop what they are about.
        log.debug('an event could not be written', { problem });
      }
    }
  }
}

const isOfAnother = ({ causes }: ApiError) => causes.some(({ field }) => field === 'metadata.uid');

function mayTell(entry: Written, now: number): boolean {
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
  { type, reason, message }: Transition,
  { clock, instance }: StatusWriterOptions,
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
