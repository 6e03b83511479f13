interface TurnsOptions {
  /** For all together. */
  most: number;
  /** For one of them; without, or where it is no less than that for all, one may have everything. */
  each?: number;
  /** How many may wait, of all together; without, all who come. */
  queue?: number;
}

interface Waiting {
  who: string;
  weight: number;
  begin: () => void;
}

/** As many wait as may. */
export class TooManyWait extends Error {
  override readonly name = 'TooManyWait';
}

/**
 * So much goes on at once, and so much of it for one; the rest waits, in the order in which it came. Who waits for room of its own holds up
 * no other; what needs no room never waits.
 */
export class Turns {
  readonly #most: number;
  readonly #each: number;
  readonly #queue: number;
  readonly #waiting = new Set<Waiting>();
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor({ most, each = most, queue = Infinity }: TurnsOptions) {
    this.#most = most;
    this.#each = each < most ? each : Infinity;
    this.#queue = queue;
  }

  /**
   * Resolves to what gives the room back, once there is some. Rejects with the reason of `signal`, when it is aborted before that.
   * @throws TooManyWait
   */
  async take(signal: AbortSignal, who = '', weight = 1): Promise<() => void> {
    signal.throwIfAborted();
    if (weight === 0) return () => undefined;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const one = { who, weight, begin: () => resolve(undefined) };
    const leave = (): void => {
      if (!this.#waiting.delete(one)) return;
      reject(signal.reason as Error);
      this.#beginNext();
    };
    this.#waiting.add(one);
    signal.addEventListener('abort', leave, { once: true });
    this.#beginNext();
    if (this.#waiting.size > this.#queue && this.#waiting.delete(one)) reject(new TooManyWait('too many wait for it'));
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
    return () => {
      this.#add(one, -1);
      this.#beginNext();
    };
  }

  /** The same, for as long as something goes on. */
  async run<T>(signal: AbortSignal, who: string, work: () => Promise<T>): Promise<T> {
    const release = await this.take(signal, who);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Whether something of it goes on. */
  has(who: string): boolean {
    return this.#held.has(who);
  }

  #beginNext(): void {
    for (const one of this.#waiting) {
      if ((this.#held.get(one.who) ?? 0) + one.weight > this.#each) continue;
      if (this.#all + one.weight > this.#most) return;
      this.#waiting.delete(one);
      this.#add(one, 1);
      one.begin();
    }
  }

  #add({ who, weight }: Waiting, sign: 1 | -1): void {
    this.#all += sign * weight;
    const held = (this.#held.get(who) ?? 0) + sign * weight;
    if (held > 0) this.#held.set(who, held);
    else this.#held.delete(who);
  }
}
