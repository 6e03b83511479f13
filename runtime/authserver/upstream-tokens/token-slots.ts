import type { RequestError } from '#runtime/errors';
import type { UserToken } from '../user-tokens.ts';

/** What this process knows of one user's tokens at one provider. Times are milliseconds since the epoch. */
export interface TokenSlot {
  /** The token in force, as it was last read. */
  token: UserToken | undefined;
  /** Until then the storage is not asked again. */
  knownUntil: number;
  /** From then on the token is to be renewed; until `usableUntil` it serves meanwhile. */
  renewAt: number;
  usableUntil: number;
  /** Until then there is none, as far as is known, and nobody asks. */
  lacksUntil: number;
  /** Why there was none, until then. */
  failure: RequestError | undefined;
  failedUntil: number;
  /** A backend refused this access token: another one is got. */
  refused: string | undefined;
  /** Got for one that was refused: if it is refused as well until then, that is for good. */
  replacement: string | undefined;
  replacementUntil: number;
  /** Refused for good. */
  barred: string | undefined;
  reading: Promise<UserToken> | undefined;
  renewing: Promise<UserToken> | undefined;
  /** Whether there was a link at the last look; undefined before the first. */
  isLinked: boolean | undefined;
}

const MAX_SLOTS = 10_000;
const SWEEP_EVERY = 60_000;

/** Slots by provider and user, bounded: the one that was made first goes first. */
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

  /** What is known of all of a user's links, so that the next look finds what is there now. */
  of(sub: string): TokenSlot[] {
    return [...this.#byProvider.values()].flatMap((slots) => slots.get(sub) ?? []);
  }

  /** Slots that nobody has looked at for a while hold tokens for nothing. */
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
