import { AcquireAborted, Semaphore } from '#lib/limits/semaphore';
import { MIB } from '#operator/memory-bounds';
import { BOUNDS } from '../memory-bounds.ts';
import { FetchFailure } from '../fetching/fetch-failure.ts';

type RunLimited = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/** In a cluster, all namespaces share the process. */
export interface RegistryQuota {
  maxWeight: number;
  /** @throws FetchFailure `timeout` if the signal ends the wait */
  read: RunLimited;
  /** Loads have a limit of their own, because a source may never answer. */
  load: RunLimited;
  memory: RegistryMemory;
}

/** One user owns all registries. */
export const localQuota = (): RegistryQuota => ({
  maxWeight: 64 * MIB,
  read: (_signal, work) => work(),
  load: (_signal, work) => work(),
  memory: new RegistryMemory(Infinity),
});

// The author of a registry chooses its source, so all namespaces of a cluster share limits.
const { one: MAX_WEIGHT, ofAll: MEMORY } = BOUNDS.registries;
export const READ_AT_ONCE = 4;
/** A second read lets a user replace a registry whose source does not answer. */
const READS_PER_NAMESPACE = 2;
export const LOADED_AT_ONCE = 2;

export function clusterQuota(): (namespace: string) => RegistryQuota {
  const reads = new Semaphore({ total: READ_AT_ONCE, perKey: READS_PER_NAMESPACE });
  const loads = new Semaphore({ total: LOADED_AT_ONCE, perKey: 1 });
  const memory = new RegistryMemory(MEMORY);
  return (namespace) => ({
    maxWeight: MAX_WEIGHT,
    read: limitedBy(reads, namespace),
    load: limitedBy(loads, namespace),
    memory,
  });
}

function limitedBy(semaphore: Semaphore, key: string): RunLimited {
  return async (signal, work) => {
    try {
      return await semaphore.run({ key, signal }, work);
    } catch (problem) {
      if (!(problem instanceof AcquireAborted)) throw problem;
      throw new FetchFailure('timeout', 'too many registries are being read: try again later', { cause: problem });
    }
  };
}

interface Entry {
  weight: number;
  evict: () => void;
}

/** Evicts the least recently used registry, which has a stored copy. */
export class RegistryMemory {
  readonly #most: number;
  readonly #entries = new Map<object, Entry>();
  #weight = 0;

  constructor(most: number) {
    this.#most = most;
  }

  set(owner: object, weight: number, evict: () => void): void {
    this.delete(owner);
    this.#entries.set(owner, { weight, evict });
    this.#weight += weight;
    for (const [other, entry] of this.#entries) {
      if (this.#weight <= this.#most || other === owner) return;
      this.delete(other);
      entry.evict();
    }
  }

  touch(owner: object): void {
    const entry = this.#entries.get(owner);
    if (!entry) return;
    this.#entries.delete(owner);
    this.#entries.set(owner, entry);
  }

  delete(owner: object): void {
    this.#weight -= this.#entries.get(owner)?.weight ?? 0;
    this.#entries.delete(owner);
  }
}
