import type { Backend } from '#runtime/mcp/backends/backend';
import { fetchList, type BackendList } from './fetch-list.ts';
import type { Asker } from './asker.ts';
import type { ListKind } from './list-kinds.ts';

/** Where a backend says nothing: how long its lists are believed, in milliseconds. */
const DEFAULT_TTL = 60_000;
const MAX_TTL = 3_600_000;
const MAX_SLOTS = 5_000;
/** A failed list is not asked for again at once. */
const RETRY_AFTER = 1_000;

interface Slot {
  list: BackendList | undefined;
  expiresAt: number;
  pending: Promise<BackendList> | undefined;
  retryAt: number;
  /** Why it failed. */
  failure: unknown;
  /** Counts up with each invalidation, so that an answer that was under way is not believed. */
  generation: number;
}

/**
 * The lists of all backends, one fetch at a time for each. Shared between callers only where the backend sees the same
 * credential for all of them; the key holds the client's capabilities, as a backend's list may depend on them.
 */
export class ListCache {
  readonly #slots = new Map<string, Slot>();
  readonly #now: () => number;
  readonly #arrived: (backend: Backend, kind: ListKind, list: BackendList) => void;

  /** `arrived` is told of each list that was fetched. */
  constructor(now: () => number, arrived: (backend: Backend, kind: ListKind, list: BackendList) => void) {
    this.#now = now;
    this.#arrived = arrived;
  }

  /** The list, at once where it is fresh. @throws NoAnswer, Error */
  get(backend: Backend, kind: ListKind, asker: Asker): BackendList | Promise<BackendList> {
    const slot = this.#slot(keyOf(backend, kind, asker));
    const now = this.#now();
    if (slot.list && slot.expiresAt > now) return slot.list;
    if (slot.pending) return slot.pending;
    if (slot.retryAt > now) return Promise.reject(asError(slot.failure));
    slot.pending = this.#fetch(backend, kind, asker, slot);
    return slot.pending;
  }

  invalidate(backend: string | undefined, kind?: ListKind): void {
    for (const [key, slot] of this.#slots) {
      const [ofBackend, ofKind] = key.split('\n', 2);
      if ((backend !== undefined && ofBackend !== backend) || (kind !== undefined && ofKind !== kind)) continue;
      doubt(slot);
    }
  }

  /** What backends that see this principal's own credential have listed may be something else now. */
  invalidateFor(principal: string): void {
    const wanted = JSON.stringify(principal);
    for (const [key, slot] of this.#slots) if (key.split('\n', 4)[3] === wanted) doubt(slot);
  }

  /** The list that was got last, however old it is. */
  lastOf(backend: Backend, kind: ListKind, asker: Asker): BackendList | undefined {
    return this.#slots.get(keyOf(backend, kind, asker))?.list;
  }

  async #fetch(backend: Backend, kind: ListKind, asker: Asker, slot: Slot): Promise<BackendList> {
    const { generation } = slot;
    try {
      const list = await fetchList(kind, (cursor) => asker.ask(backend, kind, cursor));
      if (slot.generation === generation) {
        slot.list = list;
        slot.expiresAt = this.#now() + Math.min(list.ttlMs ?? DEFAULT_TTL, MAX_TTL);
        slot.pending = undefined;
        this.#arrived(backend, kind, list);
      }
      return list;
    } catch (error) {
      if (slot.generation === generation) {
        slot.pending = undefined;
        slot.retryAt = this.#now() + RETRY_AFTER;
        slot.failure = error;
      }
      throw error;
    }
  }

  #slot(key: string): Slot {
    const known = this.#slots.get(key);
    if (known) return known;
    const slot: Slot = {
      list: undefined,
      expiresAt: 0,
      pending: undefined,
      retryAt: 0,
      failure: undefined,
      generation: 0,
    };
    if (this.#slots.size >= MAX_SLOTS) {
      const oldest = this.#slots.keys().next().value;
      if (oldest !== undefined) this.#slots.delete(oldest);
    }
    this.#slots.set(key, slot);
    return slot;
  }
}

function doubt(slot: Slot): void {
  slot.generation++;
  slot.expiresAt = 0;
  slot.retryAt = 0;
  slot.pending = undefined;
}

function asError(failure: unknown): Error {
  return failure instanceof Error ? failure : new Error('it failed a moment ago');
}

function keyOf(backend: Backend, kind: ListKind, asker: Asker): string {
  const principal = backend.credential.perUser ? asker.identity.key : '';
  return `${backend.name}\n${kind}\n${asker.era}\n${JSON.stringify(principal)}\n${asker.capabilities}`;
}
