interface RefreshedSettings<T> {
  /** Reads the value. The former one is passed so that an unchanged value can keep its identity. */
  readonly load: (former: T | undefined) => Promise<T>;
  /** Milliseconds for which a value is used without a question. */
  readonly maxAge: number;
  /** Longest pause between attempts after failures, and between two forced reloads. */
  readonly cooldown: number;
  /** How long beyond `maxAge` a value serves while its source fails. */
  readonly staleFor: number;
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
}

/** A value from elsewhere that is read on demand, by one reader at a time, and outlives a failing source for a while. */
export interface Refreshed<T> {
  /** The value as of now, without any reading. */
  readonly current: T | undefined;
  /** Before this time `get` returns `current` and does nothing else. */
  readonly quietUntil: number;
  /** Whether the last attempt to read failed. */
  readonly failing: boolean;
  /** The value, at once where it is young enough. Throws, or rejects with, the source's error when there is none to use. */
  get(): T | Promise<T>;
  /** Reads at once although the value is young; undefined while cooling down from the last time. */
  reload(): Promise<T> | undefined;
}

const FIRST_PAUSE = 1_000;
/** A value is renewed behind the requests' back once it has reached this part of its age, so that none has to wait. */
const RENEW_AT = 0.8;

/** Nothing is read before the first `get`. */
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
