import { TokenBucket } from '#lib/limits/token-bucket';
import { SecondChanceMap } from '#runtime/second-chance-map';
import type { Counters } from './counters.ts';
import type { Limit, Refusal } from './limit.ts';

/** Equal parts for all limits: users of one limit cannot evict those of another. A new user evicts an idle one of about 150 bytes. */
const MAX_USERS = 200_000;

/** SecondChanceMap requires `used`. */
class UsedBucket extends TokenBucket {
  used = false;
}

/** Counts requests in this process. */
export class MemoryCounters implements Counters {
  readonly #now: () => number;
  readonly #shared = new Map<string, UsedBucket>();
  readonly #users = new Map<string, SecondChanceMap<string, UsedBucket>>();
  #usersPerLimit = MAX_USERS;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  take(limits: readonly Limit[], user: string): Refusal | undefined {
    const now = this.#now();
    let full: Limit | undefined;
    let wait = 0;
    for (const limit of limits) {
      const known = this.#find(limit, user);
      if (known) known.used = true;
      const bucket = known ?? this.#begin(limit, user, now);
      const longer = bucket.refill(limit, now);
      if (longer <= wait) continue;
      full = limit;
      wait = longer;
    }
    if (full) return { limit: full, wait };
    for (const limit of limits) this.#find(limit, user)?.take();
    return undefined;
  }

  retain(limits: readonly Limit[]): void {
    const ids = new Set(limits.map(({ id }) => id));
    for (const kept of [this.#shared, this.#users]) for (const id of kept.keys()) if (!ids.has(id)) kept.delete(id);
    const perUser = limits.filter((limit) => limit.perUser).length;
    this.#usersPerLimit = Math.max(1, Math.floor(MAX_USERS / Math.max(1, perUser)));
    for (const users of this.#users.values()) users.resize(this.#usersPerLimit);
  }

  close(): void {
    this.#shared.clear();
    this.#users.clear();
  }

  #find({ id, perUser }: Limit, user: string): UsedBucket | undefined {
    return perUser ? this.#users.get(id)?.get(user) : this.#shared.get(id);
  }

  #begin({ id, perUser }: Limit, user: string, now: number): UsedBucket {
    const bucket = new UsedBucket(now);
    if (perUser) this.#usersOf(id).set(user, bucket);
    else this.#shared.set(id, bucket);
    return bucket;
  }

  #usersOf(id: string): SecondChanceMap<string, UsedBucket> {
    let users = this.#users.get(id);
    if (!users) this.#users.set(id, (users = new SecondChanceMap(this.#usersPerLimit)));
    return users;
  }
}
