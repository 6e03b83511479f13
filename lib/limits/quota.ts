export interface QuotaLimits {
  /** Amount that all keys hold together. Default: unlimited. */
  total?: number;
  /** Amount that one key holds. Default: unlimited. */
  perKey?: number;
  /** Amount that one key may hold although the total is used up. Default: 0. */
  guaranteed?: number;
}

/** A key asked for more than is left. `limit` names the exceeded limit; `held` is the amount that counts against it now. */
export class QuotaExceeded extends Error {
  override readonly name = 'QuotaExceeded';
  readonly limit: 'total' | 'perKey';
  readonly held: number;

  constructor(limit: QuotaExceeded['limit'], held: number) {
    super(`quota exceeded (${limit}): ${held} held already`);
    this.limit = limit;
    this.held = held;
  }
}

/** Limits the amount that is held at once, in total and per key. Rejects at once; nothing waits. */
export class Quota {
  readonly #limits: () => QuotaLimits;
  readonly #held = new Map<string, number>();
  #total = 0;

  /** @param limits a function if the limits change; lower limits take nothing back */
  constructor(limits: QuotaLimits | (() => QuotaLimits)) {
    this.#limits = typeof limits === 'function' ? limits : () => limits;
  }

  /** Returns the function that releases the amount, once. @throws QuotaExceeded */
  take(key: string, amount = 1): () => void {
    this.check(key, amount);
    this.#add(key, amount);
    let isHeld = true;
    return () => {
      if (isHeld) this.#add(key, -amount);
      isHeld = false;
    };
  }

  /** Takes nothing. @throws QuotaExceeded if `take` would throw */
  check(key: string, amount = 1): void {
    const { total = Infinity, perKey = Infinity, guaranteed = 0 } = this.#limits();
    const held = this.#held.get(key) ?? 0;
    const isGuaranteed = held + amount <= guaranteed;
    if (!isGuaranteed && this.#total + amount > total) throw new QuotaExceeded('total', this.#total);
    if (held + amount > perKey) throw new QuotaExceeded('perKey', held);
  }

  #add(key: string, amount: number): void {
    this.#total += amount;
    const held = (this.#held.get(key) ?? 0) + amount;
    if (held > 0) this.#held.set(key, held);
    else this.#held.delete(key);
  }
}
