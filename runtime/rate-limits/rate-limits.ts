import { BoundedMap } from '#runtime/bounded-map';
import type { Identity } from '#runtime/incoming/identity';
import type { CatalogueEntry } from '#runtime/mcp/aggregate/catalogue-entry';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import type { Log } from '#runtime/telemetry/log';
import type { Counters } from './counters.ts';
import type { Limit, Refusal } from './limit.ts';
import type { LimitTable } from './limit-table.ts';
import { notCounted, rateLimited } from './refusals.ts';

/** `refused`: the limit is exhausted. The others could not be counted: `passed_uncounted`, `refused_uncounted`. */
export type LimitOutcome = 'refused' | 'passed_uncounted' | 'refused_uncounted';

export interface RateLimitsDeps {
  readonly table: LimitTable;
  readonly counters: Counters;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
  readonly log: Log;
  readonly count: (scope: Limit['scope'], outcome: LimitOutcome) => void;
}

/** Limit of cached users whose next request is refused without a call to the counters. */
const MAX_REFUSED = 10_000;

interface Refused {
  readonly limit: Limit;
  readonly until: number;
}

/** Active rate limits. They count requests to backends after authorization. */
export class RateLimits {
  readonly #deps: RateLimitsDeps;
  readonly #refused = new BoundedMap<string, Refused>(MAX_REFUSED);
  #isFailing = false;

  constructor(deps: RateLimitsDeps) {
    this.#deps = deps;
  }

  /** Refuses a user who is over a per-user limit, before any other lookup. @throws RateLimited */
  check({ key }: Identity): void {
    const refusal = this.#refusalOf(key);
    if (refusal) throw this.#refuse(refusal);
  }

  /** Counts a request to this backend; `tool`: the called tool. Synchronous if no Redis is involved. @throws RateLimited */
  take({ key }: Identity, backend: string, tool: CatalogueEntry | undefined): void | Promise<void> {
    const { table } = this.#deps;
    return this.#take(tool ? table.ofTool(tool) : table.ofBackend(backend), key);
  }

  /** Counts one request to all of these backends. @throws RateLimited */
  takeForAll({ key }: Identity, backends: readonly string[]): void | Promise<void> {
    return this.#take(this.#deps.table.ofBackends(backends), key);
  }

  /** Counts a denied request at its caller's limits, as an allowed one, but not at limits of other users. */
  charge({ key }: Identity): void {
    const limits = this.#deps.table.ofUsers;
    // A user over the limit is not counted further, so the counters are not called.
    if (limits.length === 0 || this.#refusalOf(key)) return;
    const taken = this.#deps.counters.take(limits, key);
    // If the counters fail, the request is denied anyway.
    if (taken instanceof Promise) taken.then((refusal) => this.#note(refusal, key)).catch(() => undefined);
    else this.#note(taken, key);
  }

  /** Returns a problem and its remedy for each limit of an unknown tool. `tools`: all tools; undefined: unknown. */
  findUnknown(tools: readonly CatalogueEntry[] | undefined): string[] {
    if (tools === undefined) return [];
    const names = new Set(tools.map(({ name }) => name));
    return this.#deps.table.tools
      .filter((tool) => !names.has(tool))
      .map((tool) => `rateLimiting limits the tool ${JSON.stringify(tool)}, which is not there: correct or remove it`);
  }

  #take(limits: readonly Limit[], key: string): void | Promise<void> {
    if (limits.length === 0) return;
    const taken = this.#deps.counters.take(limits, key);
    if (taken instanceof Promise) return this.#settle(taken, limits, key);
    if (taken) throw this.#refuse(this.#note(taken, key));
  }

  async #settle(taken: Promise<Refusal | undefined>, limits: readonly Limit[], key: string): Promise<void> {
    let refusal: Refusal | undefined;
    try {
      refusal = await taken;
    } catch (error) {
      this.#passUncounted(limits, error);
      return;
    }
    if (this.#isFailing) this.#deps.log.info('requests are counted again');
    this.#isFailing = false;
    if (refusal) throw this.#refuse(this.#note(refusal, key));
  }

  /** @throws RateLimited if one of the limits fails closed */
  #passUncounted(limits: readonly Limit[], error: unknown): void {
    if (!(error instanceof StorageUnavailable)) throw error;
    const { log, count } = this.#deps;
    // Logged once per outage: there may be thousands of requests.
    if (!this.#isFailing) log.warn('requests cannot be counted', { reason: error.message });
    this.#isFailing = true;
    const closed = limits.find(({ onStoreFailure }) => onStoreFailure === 'closed');
    const [first] = limits;
    if (first) count((closed ?? first).scope, closed ? 'refused_uncounted' : 'passed_uncounted');
    if (closed) throw notCounted(closed, error);
  }

  #refusalOf(key: string): Refusal | undefined {
    const refused = this.#refused.get(key);
    if (!refused) return undefined;
    const wait = refused.until - this.#deps.now();
    if (wait > 0) return { limit: refused.limit, wait };
    this.#refused.delete(key);
    return undefined;
  }

  #refuse(refusal: Refusal): Error {
    this.#deps.count(refusal.limit.scope, 'refused');
    return rateLimited(refusal);
  }

  #note<R extends Refusal | undefined>(refusal: R, key: string): R {
    if (refusal && this.#deps.table.ofUsers.includes(refusal.limit))
      this.#refused.set(key, { limit: refusal.limit, until: this.#deps.now() + refusal.wait });
    return refusal;
  }
}
