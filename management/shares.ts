import { Problem } from './problem.ts';

interface SharesOptions {
  /** For all callers together; absent: as much as each of them may. */
  most?: number;
  /** For one of them. */
  each: number;
  /** Whose share that is, as it is told; `for you`, without. */
  whose?: string;
  /** What is going on, with how many of it: `the logs of 4 pods are being read`. */
  tell: (count: number) => string;
}

const HEADERS = { 'Retry-After': '5' };

/** So much of something may go on at once, and so much of it for one caller: who takes all that may be had leaves some to others. */
export class Shares {
  readonly #in: SharesOptions;
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(options: SharesOptions) {
    this.#in = options;
  }

  /**
   * Returns what gives them back; called again it does nothing.
   * @throws Problem `too_many_requests`: the caller has its share; `unavailable`: too many go on. Both with Retry-After
   */
  take(who: string, count = 1): () => void {
    const { most = Infinity, each, whose = 'for you', tell } = this.#in;
    const held = this.#held.get(who) ?? 0;
    if (this.#all + count > most)
      throw new Problem('unavailable', `${tell(this.#all)} already: try again later`, { headers: HEADERS });
    if (held + count > each)
      throw new Problem('too_many_requests', `${tell(held)} ${whose} already: try again later`, { headers: HEADERS });
    this.#add(who, count);
    let isHeld = true;
    return () => {
      if (isHeld) this.#add(who, -count);
      isHeld = false;
    };
  }

  #add(who: string, count: number): void {
    this.#all += count;
    const held = (this.#held.get(who) ?? 0) + count;
    if (held > 0) this.#held.set(who, held);
    else this.#held.delete(who);
  }
}

/** Gives back what was taken when nobody waits for it any more; at once where that is so already. */
export function releaseAt(gone: AbortSignal, release: () => void): void {
  if (gone.aborted) release();
  else gone.addEventListener('abort', release, { once: true });
}
