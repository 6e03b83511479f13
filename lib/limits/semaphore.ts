interface SemaphoreOptions {
  /** Weight that all keys hold together. Default: unlimited. */
  total?: number;
  /** Weight that one key holds. Default: `total`. */
  perKey?: number;
  /** Calls that wait, of all keys together. Default: unlimited. */
  queue?: number;
  /** Calls that wait, of one key. Default: `queue`. */
  queuePerKey?: number;
}

interface AcquireOptions {
  key?: string;
  /** Default: 1. Weight 0 never waits. */
  weight?: number;
  /** Ends the wait. */
  signal?: AbortSignal | undefined;
}

interface Waiter {
  key: string;
  weight: number;
  grant: () => void;
}

/** The semaphore refused a call because too many calls wait. `limit` names the exceeded option. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
  readonly limit: 'queue' | 'queuePerKey';

  constructor(limit: QueueFull['limit']) {
    super(`too many calls wait (${limit})`);
    this.limit = limit;
  }
}

/** The signal ended the wait. `cause` is the reason of the signal. */
export class AcquireAborted extends Error {
  override readonly name = 'AcquireAborted';

  constructor(signal: AbortSignal) {
    super('the wait was aborted', { cause: signal.reason });
  }
}

/**
 * Fair semaphore with a total and a per-key limit. Keys take turns; calls of one key run in order of arrival. A key at its limit
 * does not block other keys. A heavy call that waits for the total limit is not overtaken.
 */
export class Semaphore {
  readonly #limits: Required<SemaphoreOptions>;
  /** Waiting calls by key. The first key is served next. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #held = new Map<string, number>();
  #total = 0;
  #queued = 0;

  constructor({ total = Infinity, perKey = total, queue = Infinity, queuePerKey = queue }: SemaphoreOptions) {
    this.#limits = { total, perKey, queue, queuePerKey };
  }

  /**
   * Resolves to the function that releases the weight, once.
   * @throws QueueFull, AcquireAborted; RangeError if the weight exceeds a limit
   */
  async acquire({ key = '', weight = 1, signal }: AcquireOptions = {}): Promise<() => void> {
    if (signal?.aborted) throw new AcquireAborted(signal);
    if (weight === 0) return () => undefined;
    this.#checkWeight(weight);
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiter = { key, weight, grant: () => resolve(undefined) };
    this.#enqueue(waiter);
    this.#grantNext();
    const full = this.#fullQueue(key);
    if (full && this.#dequeue(waiter)) throw new QueueFull(full);
    const abort = (): void => {
      if (!signal || !this.#dequeue(waiter)) return;
      reject(new AcquireAborted(signal));
      this.#grantNext();
    };
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
    return this.#releaseOf(waiter);
  }

  /** Holds the weight while `work` runs. @throws what `acquire` and `work` throw */
  async run<T>(options: AcquireOptions, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(options);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Returns whether the key holds any weight. */
  holds(key: string): boolean {
    return this.#held.has(key);
  }

  #checkWeight(weight: number): void {
    const most = Math.min(this.#limits.total, this.#limits.perKey);
    if (!(weight <= most)) throw new RangeError(`weight ${weight} exceeds ${most}, the limit of one key`);
  }

  #fullQueue(key: string): QueueFull['limit'] | undefined {
    if (this.#queued > this.#limits.queue) return 'queue';
    return (this.#waiting.get(key)?.size ?? 0) > this.#limits.queuePerKey ? 'queuePerKey' : undefined;
  }

  #enqueue(waiter: Waiter): void {
    const row = this.#waiting.get(waiter.key) ?? new Set();
    this.#waiting.set(waiter.key, row.add(waiter));
    this.#queued += 1;
  }

  #dequeue(waiter: Waiter): boolean {
    const row = this.#waiting.get(waiter.key);
    if (!row?.delete(waiter)) return false;
    if (row.size === 0) this.#waiting.delete(waiter.key);
    this.#queued -= 1;
    return true;
  }

  #grantNext(): void {
    const { total, perKey } = this.#limits;
    // A served key moves behind the others, so this loop reaches it again.
    for (const [key, row] of this.#waiting) {
      const [next] = row;
      if (!next || (this.#held.get(key) ?? 0) + next.weight > perKey) continue;
      if (this.#total + next.weight > total) return;
      this.#dequeue(next);
      this.#waiting.delete(key);
      if (row.size > 0) this.#waiting.set(key, row);
      this.#add(next, 1);
      next.grant();
    }
  }

  #releaseOf(waiter: Waiter): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#add(waiter, -1);
      this.#grantNext();
    };
  }

  #add({ key, weight }: Waiter, sign: 1 | -1): void {
    this.#total += sign * weight;
    const held = (this.#held.get(key) ?? 0) + sign * weight;
    if (held > 0) this.#held.set(key, held);
    else this.#held.delete(key);
  }
}
