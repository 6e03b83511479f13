interface TurnsOptions {
  /** For all together. */
  most: number;
  /** For one of them; without, or where it is no less than that for all, one may have everything. */
  each?: number;
  /** How many may wait, of all together; without, all who come. */
  queue?: number;
  /** The same for one of them. */
  queueOfOne?: number;
}

interface Waiting {
  who: string;
  weight: number;
  begin: () => void;
}

/** What is wanted was not begun: nobody waited for it any longer (`cause` says why), or as many wait already as may, of all or of one. */
export class NoTurn extends Error {
  override readonly name = 'NoTurn';
  readonly why: 'given up' | 'too many wait' | 'too many of one wait';

  constructor(why: NoTurn['why'], options?: ErrorOptions) {
    super(`it was not its turn: ${why}`, options);
    this.why = why;
  }
}

/**
 * So much goes on at once, and so much of it for one; the rest waits, in the order in which it came. Who waits for room of its own holds up
 * no other; what needs no room never waits.
 */
export class Turns {
  readonly #most: number;
  readonly #each: number;
  readonly #queue: number;
  readonly #queueOfOne: number;
  readonly #waiting = new Set<Waiting>();
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor({ most, each = most, queue = Infinity, queueOfOne = queue }: TurnsOptions) {
    this.#most = most;
    this.#each = each < most ? each : Infinity;
    this.#queue = queue;
    this.#queueOfOne = queueOfOne;
  }

  /**
   * Resolves to what gives the room back, once there is some.
   * @throws NoTurn also when `signal` is aborted before that; RangeError where there will never be so much
   */
  async take(signal: AbortSignal, who = '', weight = 1): Promise<() => void> {
    if (signal.aborted) throw givenUp(signal);
    if (weight === 0) return () => undefined;
    const room = Math.min(this.#most, this.#each);
    if (!(weight <= room))
      throw new RangeError(`${weight} is more than ${room}, which is all the room that one may have`);
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const one = { who, weight, begin: () => resolve(undefined) };
    const leave = (): void => {
      if (!this.#waiting.delete(one)) return;
      reject(givenUp(signal));
      this.#beginNext();
    };
    this.#waiting.add(one);
    signal.addEventListener('abort', leave, { once: true });
    this.#beginNext();
    const excess = this.#excessOf(who);
    if (excess && this.#waiting.delete(one)) reject(new NoTurn(excess));
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

  #excessOf(who: string): Exclude<NoTurn['why'], 'given up'> | undefined {
    if (this.#waiting.size > this.#queue) return 'too many wait';
    const ofOne = [...this.#waiting].filter((one) => one.who === who).length;
    return ofOne > this.#queueOfOne ? 'too many of one wait' : undefined;
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

const givenUp = (signal: AbortSignal): NoTurn => new NoTurn('given up', { cause: signal.reason });
