interface RefreshedSettings<T> {
  /** Reads the value. The former value is passed, so that an unchanged value keeps its identity. */
  readonly load: (former: T | undefined) => Promise<T>;
  /** Milliseconds for which a value is used without a new read. */
  readonly maxAge: number;
  /** Longest pause between attempts after failures, and between two forced reloads. */
  readonly cooldown: number;
  /** Milliseconds beyond `maxAge` for which a value remains usable while its source fails. */
  readonly staleFor: number;
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
}

/** A remote value that is read on demand, by one reader at a time. It survives a failing source for a while. */
export interface Refreshed<T> {
  readonly current: T | undefined;
  /** Before this time `get` only returns `current`. */
  readonly quietUntil: number;
  readonly failing: boolean;
  /** Returns the value, synchronously if it is young enough. Throws, or rejects with, the source's error if there is no usable value. */
  get(): T | Promise<T>;
  /** Reads at once even if the value is young; undefined during the cooldown. */
  reload(): Promise<T> | undefined;
}

const FIRST_PAUSE = 1_000;
/** Part of its age at which a value is renewed in the background, so that no request waits. */
const RENEW_AT = 0.8;

/** Returns the value's reader. It reads nothing before the first `get`. */
export function createRefreshed<T>(settings: RefreshedSettings<T>): Refreshed<T> {
  return new RefreshedValue(settings);
}

class RefreshedValue<T> implements Refreshed<T> {
  readonly #settings: RefreshedSettings<T>;
  #held: { value: T; at: number } | undefined;
  #failures = 0;
  #error: unknown;
  #retryAt = -Infinity;
  #reloadedAt = -Infinity;
  #flight: Promise<T> | undefined;
  quietUntil = -Infinity;

  constructor(settings: RefreshedSettings<T>) {
    this.#settings = settings;
  }

  get current(): T | undefined {
    return this.#held?.value;
  }

  get failing(): boolean {
    return this.#failures > 0;
  }

  get(): T | Promise<T> {
    const now = this.#settings.now();
    const { maxAge, staleFor } = this.#settings;
    const age = this.#held ? now - this.#held.at : Infinity;
    if (this.#held && now < this.quietUntil) return this.#held.value;
    const mayRead = now >= this.#retryAt;
    if (this.#held && (age < maxAge || (this.failing && age < maxAge + staleFor))) {
      if (mayRead) this.#read().catch(() => undefined);
      return this.#held.value;
    }
    if (!mayRead) throw this.#error;
    return this.#read().catch((error: unknown) => {
      if (this.#held && age < maxAge + staleFor) return this.#held.value;
      throw error;
    });
  }

  reload(): Promise<T> | undefined {
    const now = this.#settings.now();
    if (this.#flight) return this.#flight;
    if (now - this.#reloadedAt < this.#settings.cooldown || now < this.#retryAt) return undefined;
    this.#reloadedAt = now;
    return this.#read();
  }

  #read(): Promise<T> {
    this.#flight ??= this.#load().finally(() => (this.#flight = undefined));
    return this.#flight;
  }

  async #load(): Promise<T> {
    const { load, now, maxAge, cooldown, onFailure } = this.#settings;
    try {
      const value = await load(this.#held?.value);
      this.#held = { value, at: now() };
      this.#failures = 0;
      this.#retryAt = -Infinity;
      this.quietUntil = this.#held.at + maxAge * RENEW_AT;
      return value;
    } catch (error) {
      this.#error = error;
      this.#retryAt = now() + Math.min(cooldown, FIRST_PAUSE * 2 ** this.#failures);
      this.#failures += 1;
      onFailure(error);
      throw error;
    }
  }
}
