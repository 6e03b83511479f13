import { NoAnswer } from '#runtime/mcp/backends/ask';
import type { Backend } from '#runtime/mcp/backends/backend';
import type { FailureReason } from '#runtime/mcp/backends/failures';
import { fetchList, type BackendList } from './fetch-list.ts';
import type { Asker } from './asker.ts';
import type { ListKind } from './list-kinds.ts';

/** Milliseconds, if the backend declares nothing. */
const DEFAULT_TTL = 60_000;
const MAX_TTL = 3_600_000;
const MAX_SLOTS = 5_000;
/** Milliseconds. */
const RETRY_AFTER = 1_000;

interface Slot {
  list: BackendList | undefined;
  /** Whether the last list may replace a missing answer: its credential is still valid. */
  standsIn: boolean;
  expiresAt: number;
  pending: Promise<BackendList> | undefined;
  retryAt: number;
  failure: unknown;
  /** Increases with each invalidation, so that a pending answer is not treated as fresh. */
  generation: number;
  /** Increases if the backend or its credential changes: answers to earlier requests are dropped. */
  epoch: number;
}

/** `before`: the list that it replaces. */
type Arrived = (backend: Backend, kind: ListKind, list: BackendList, before: BackendList | undefined) => void;

/** One fetch at a time for each list. Lists are shared per credential and client capabilities, because they may depend on both. */
export class ListCache {
  readonly #slots = new Map<string, Slot>();
  readonly #now: () => number;
  readonly #arrived: Arrived;
  /** When a backend first exceeded a wait; removed when it lists. Per user if each user has separate lists. */
  readonly #slow = new Map<string, number>();

  constructor(now: () => number, arrived: Arrived) {
    this.#now = now;
    this.#arrived = arrived;
  }

  /** Synchronous if the list is fresh. @throws NoAnswer, Error */
  get(backend: Backend, kind: ListKind, asker: Asker): BackendList | Promise<BackendList> {
    const slot = this.#slot(keyOf(backend, kind, asker));
    const now = this.#now();
    if (slot.list && slot.expiresAt > now) return slot.list;
    if (slot.pending) return this.#ofOther(slot.pending, backend, kind, asker);
    if (slot.retryAt > now) return Promise.reject(asError(slot.failure));
    slot.pending = this.#fetch(backend, kind, asker, slot);
    return slot.pending;
  }

  /** If the session of the other caller ends, fetches the list for this caller. */
  async #ofOther(pending: Promise<BackendList>, backend: Backend, kind: ListKind, asker: Asker): Promise<BackendList> {
    try {
      return await pending;
    } catch (error) {
      if (!isOfOneSession(error)) throw error;
      return this.get(backend, kind, asker);
    }
  }

  /** Returns false if no fetch is pending, or if it takes longer than `wait` milliseconds. */
  async arrivesWithin(backend: Backend, kind: ListKind, asker: Asker, wait: number): Promise<boolean> {
    const pending = this.#slots.get(keyOf(backend, kind, asker))?.pending;
    if (!pending || wait <= 0) return false;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), wait).unref();
    });
    const came = pending.then(
      () => true,
      () => false,
    );
    return Promise.race([came, late]).finally(() => clearTimeout(timer));
  }

  /** Returns the last list if it may replace an answer. `isFresh`: no request is needed. */
  known(backend: Backend, kind: ListKind, asker: Asker): { list: BackendList; isFresh: boolean } | undefined {
    const slot = this.#slots.get(keyOf(backend, kind, asker));
    return slot?.list && slot.standsIn ? { list: slot.list, isFresh: slot.expiresAt > this.#now() } : undefined;
  }

  listsOf(backend: string, kind: ListKind): BackendList[] {
    return [...this.#slots].flatMap(([key, { list }]) =>
      list && key.startsWith(`${backend}\n${kind}\n`) ? [list] : [],
    );
  }

  noteSlow(backend: Backend, asker: Asker, waited: number): void {
    const key = slowKey(backend, asker);
    if (this.#slow.has(key)) return;
    const [oldest] = this.#slow.keys();
    if (oldest !== undefined && this.#slow.size >= MAX_SLOTS) this.#slow.delete(oldest);
    this.#slow.set(key, this.#now() - waited);
  }

  /** Milliseconds. After one wait without a list, no time remains until the backend lists something. */
  waitLeft(backend: Backend, asker: Asker, wait: number): number {
    const since = this.#slow.get(slowKey(backend, asker));
    return since === undefined ? wait : Math.max(0, wait - (this.#now() - since));
  }

  drop(backend: string): void {
    for (const key of this.#slow.keys()) if (key.startsWith(`${backend}\n`)) this.#slow.delete(key);
    for (const [key, slot] of this.#slots) {
      if (!key.startsWith(`${backend}\n`)) continue;
      doubt(slot);
      slot.epoch++;
      this.#slots.delete(key);
    }
  }

  invalidate(backend: string | undefined, kind?: ListKind): void {
    for (const [key, slot] of this.#slots) {
      const [ofBackend, ofKind] = key.split('\n', 2);
      if ((backend !== undefined && ofBackend !== backend) || (kind !== undefined && ofKind !== kind)) continue;
      doubt(slot);
    }
  }

  /** Invalidates the lists that depend on this principal's own credential. Undefined: those of all principals. */
  invalidateFor(principal: string | undefined): void {
    const wanted = principal === undefined ? undefined : JSON.stringify(principal);
    for (const [key, slot] of this.#slots) {
      const owner = key.split('\n', 4)[3];
      if (owner === OF_ALL || (wanted !== undefined && owner !== wanted)) continue;
      doubt(slot);
      slot.epoch++;
      slot.standsIn = false;
    }
  }

  lastOf(backend: Backend, kind: ListKind, asker: Asker): BackendList | undefined {
    return this.#slots.get(keyOf(backend, kind, asker))?.list;
  }

  async #fetch(backend: Backend, kind: ListKind, asker: Asker, slot: Slot): Promise<BackendList> {
    const { generation, epoch } = slot;
    try {
      const fetched = await fetchList(kind, (cursor) => asker.ask(backend, kind, cursor));
      const isOld = slot.generation !== generation;
      // A list that changed during the read is kept if there is no other. Some servers report changes while they start.
      if (slot.epoch !== epoch || (isOld && slot.list)) return fetched;
      const before = slot.list;
      const list =
        before && isSameList(before, fetched) ? before : (this.#sameAs(fetched, backend, kind, asker) ?? fetched);
      slot.list = list;
      slot.standsIn = true;
      if (!isOld) {
        slot.expiresAt = this.#now() + Math.min(list.ttlMs ?? DEFAULT_TTL, MAX_TTL);
        slot.pending = undefined;
      }
      this.#slow.delete(slowKey(backend, asker));
      this.#arrived(backend, kind, list, before);
      return list;
    } catch (error) {
      if (slot.generation === generation) noteFailure(slot, error, this.#now());
      throw error;
    }
  }

  /** Shares an equal list of other clients. Otherwise a caller with ever new capabilities would fill the memory. */
  #sameAs(fetched: BackendList, backend: Backend, kind: ListKind, asker: Asker): BackendList | undefined {
    const start = `${backend.name}\n${kind}\n${asker.era}\n`;
    for (const [key, { list }] of this.#slots)
      if (list && key.startsWith(start) && isSameList(list, fetched)) return list;
    return undefined;
  }

  #slot(key: string): Slot {
    const known = this.#slots.get(key);
    if (known) return known;
    const slot: Slot = {
      list: undefined,
      standsIn: false,
      expiresAt: 0,
      pending: undefined,
      retryAt: 0,
      failure: undefined,
      generation: 0,
      epoch: 0,
    };
    if (this.#slots.size >= MAX_SLOTS) {
      const oldest = this.#slots.keys().next().value;
      if (oldest !== undefined) this.#slots.delete(oldest);
    }
    this.#slots.set(key, slot);
    return slot;
  }
}

function noteFailure(slot: Slot, error: unknown, now: number): void {
  slot.pending = undefined;
  slot.retryAt = isOfOneSession(error) ? 0 : now + RETRY_AFTER;
  slot.failure = error;
  if (!isSilence(error)) slot.standsIn = false;
}

function doubt(slot: Slot): void {
  slot.generation++;
  slot.expiresAt = 0;
  slot.retryAt = 0;
  slot.pending = undefined;
}

/** HTTP 403 is `protocol`. */
const REFUSED: ReadonlySet<FailureReason> = new Set(['unauthorized', 'credential', 'protocol', 'too_large']);

/** A refusal is no silence: it may mean that the credential is no longer valid. */
export function isSilence(error: unknown): boolean {
  return error instanceof NoAnswer && !REFUSED.has(error.failure.reason);
}

function isOfOneSession(error: unknown): boolean {
  return error instanceof NoAnswer && error.failure.reason === 'session_lost';
}

function isSameList(a: BackendList, b: BackendList): boolean {
  return (
    a.ttlMs === b.ttlMs &&
    a.isPublic === b.isPublic &&
    a.entries.length === b.entries.length &&
    a.entries.every(({ text }, index) => text === b.entries[index]?.text)
  );
}

function asError(failure: unknown): Error {
  return failure instanceof Error ? failure : new Error('it failed a moment ago');
}

function keyOf(backend: Backend, kind: ListKind, asker: Asker): string {
  return `${backend.name}\n${kind}\n${asker.era}\n${ownerOf(backend, asker)}\n${asker.capabilities}`;
}

/** Per user if the credential is the user's own: only that credential may hang. */
function slowKey(backend: Backend, asker: Asker): string {
  return `${backend.name}\n${ownerOf(backend, asker)}`;
}

const OF_ALL = '""';

function ownerOf({ credential }: Backend, { identity }: Asker): string {
  return credential.perUser ? JSON.stringify(identity.key) : OF_ALL;
}
