import type { RequestError } from '#runtime/errors';
import type { UserToken } from '../user-tokens.ts';

/** Cache entry of one user's tokens at one provider. Times are milliseconds since the epoch. */
export interface TokenSlot {
  token: UserToken | undefined;
  /** The storage is not read again before this time. */
  knownUntil: number;
  /** The token is renewed from this time on, and stays usable until `usableUntil`. */
  renewAt: number;
  usableUntil: number;
  /** No token is known to exist before this time, and the storage is not read. */
  lacksUntil: number;
  /** Error that calls get until `failedUntil`. */
  failure: RequestError | undefined;
  failedUntil: number;
  /** Access token that a backend rejected and that must be renewed. */
  refused: string | undefined;
  /** Successor of a rejected token. If a backend rejects it before `replacementUntil`, the provider needs a login. */
  replacement: string | undefined;
  replacementUntil: number;
  barred: string | undefined;
  reading: Promise<UserToken> | undefined;
  renewing: Promise<UserToken> | undefined;
  isLinked: boolean | undefined;
}

const MAX_SLOTS = 10_000;
const SWEEP_EVERY = 60_000;

/** Slots by provider and user. When they are full, the oldest one is removed. */
export class TokenSlots {
  readonly #byProvider = new Map<string, Map<string, TokenSlot>>();
  readonly #now: () => number;
  #size = 0;
  #sweepAt = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  find(provider: string, sub: string): TokenSlot | undefined {
    return this.#byProvider.get(provider)?.get(sub);
  }

  open(provider: string, sub: string): TokenSlot {
    let slots = this.#byProvider.get(provider);
    if (!slots) this.#byProvider.set(provider, (slots = new Map<string, TokenSlot>()));
    const known = slots.get(sub);
    if (known) return known;
    this.#sweep();
    if (this.#size >= MAX_SLOTS) this.#dropOne(slots);
    const slot = emptySlot();
    slots.set(sub, slot);
    this.#size++;
    return slot;
  }

  of(sub: string): TokenSlot[] {
    return [...this.#byProvider.values()].flatMap((slots) => slots.get(sub) ?? []);
  }

  /** Removes unused slots, so that tokens do not stay in memory. */
  #sweep(): void {
    const now = this.#now();
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + SWEEP_EVERY;
    for (const slots of this.#byProvider.values()) {
      for (const [sub, slot] of slots) {
        const latest = Math.max(slot.knownUntil, slot.lacksUntil, slot.failedUntil, slot.replacementUntil);
        if (latest + SWEEP_EVERY < now && !slot.reading && !slot.renewing) this.#drop(slots, sub);
      }
    }
  }

  #dropOne(preferred: Map<string, TokenSlot>): void {
    const slots = preferred.size > 0 ? preferred : [...this.#byProvider.values()].find(({ size }) => size > 0);
    const oldest = slots?.keys().next().value;
    if (slots && oldest !== undefined) this.#drop(slots, oldest);
  }

  #drop(slots: Map<string, TokenSlot>, sub: string): void {
    if (slots.delete(sub)) this.#size--;
  }
}

function emptySlot(): TokenSlot {
  return {
    token: undefined,
    knownUntil: 0,
    renewAt: 0,
    usableUntil: 0,
    lacksUntil: 0,
    failure: undefined,
    failedUntil: 0,
    refused: undefined,
    replacement: undefined,
    replacementUntil: 0,
    barred: undefined,
    reading: undefined,
    renewing: undefined,
    isLinked: undefined,
  };
}
