import { BoundedMap } from '#runtime/bounded-map';
import type { Identity } from '#runtime/incoming/identity';
import type { CatalogueEntry } from '#runtime/mcp/aggregate/catalogue-entry';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import type { Log } from '#runtime/telemetry/log';
import type { Counters } from './counters.ts';
import type { Limit, Refusal } from './limit.ts';
import type { LimitTable } from './limit-table.ts';
import { notCounted, rateLimited } from './refusals.ts';

/** `refused`: there is no room. The others could not be counted: `passed_uncounted`, `refused_uncounted`. */
export type LimitOutcome = 'refused' | 'passed_uncounted' | 'refused_uncounted';

export interface RateLimitsDeps {
  readonly table: LimitTable;
  readonly counters: Counters;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
  readonly log: Log;
  readonly count: (scope: Limit['scope'], outcome: LimitOutcome) => void;
}

/** Users whose next request is refused without a question. */
const MAX_REFUSED = 10_000;

interface Refused {
  readonly limit: Limit;
  readonly until: number;
}

/** The rate limits in force. What goes on to a backend is counted, once it is known that its caller may ask for it. */
export class RateLimits {
  readonly #deps: RateLimitsDeps;
  readonly #refused = new BoundedMap<string, Refused>(MAX_REFUSED);
  #isFailing = false;

  constructor(deps: RateLimitsDeps) {
    this.#deps = deps;
  }

  /**
   * Whoever has used up what users have is refused before anything is looked up for them.
   * @throws RateLimited
   */
  check({ key }: Identity): void {
    const refusal = this.#refusalOf(key);
    if (refusal) throw this.#refuse(refusal);
  }

  /**
   * Counts a request that is about to go to this backend; `tool`: it calls that one. Without a promise where nobody has to be
   * asked.
   * @throws RateLimited
   */
  take({ key }: Identity, backend: string, tool: CatalogueEntry | undefined): void | Promise<void> {
    const { table } = this.#deps;
    return this.#take(tool ? table.ofTool(tool) : table.ofBackend(backend), key);
  }

  /** Counts one request that is about to go to all of these backends. @throws RateLimited */
  takeForAll({ key }: Identity, backends: readonly string[]): void | Promise<void> {
    return this.#take(this.#deps.table.ofBackends(backends), key);
  }

  /** A request that is denied costs its caller what a good one would, and nobody else anything. */
  charge({ key }: Identity): void {
    const limits = this.#deps.table.ofUsers;
    // Who has used up their own is counted no further by any of them, so nobody need be asked.
    if (limits.length === 0 || this.#refusalOf(key)) return;
    const taken = this.#deps.counters.take(limits, key);
    // Where nobody can tell nothing is lost: it was denied.
    if (taken instanceof Promise) taken.then((refusal) => this.#note(refusal, key)).catch(() => undefined);
    else this.#note(taken, key);
  }

  /** Limits that concern no tool, each with what to do. `tools`: all there are; undefined: nobody knows. */
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

  /** @throws RateLimited where one of the limits is closed then */
  #passUncounted(limits: readonly Limit[], error: unknown): void {
    if (!(error instanceof StorageUnavailable)) throw error;
    const { log, count } = this.#deps;
    // Said once, until it works again: requests may come by the thousand.
    if (!this.#isFailing) log.warn('requests cannot be counted', { reason: error.message });
    this.#isFailing = true;
    const closed = limits.find(({ onStoreFailure }) => onStoreFailure === 'closed');
    const [first] = limits;
    if (first) count((closed ?? first).scope, closed ? 'refused_uncounted' : 'passed_uncounted');
    if (closed) throw notCounted(closed, error);
  }

  /** What refuses whatever this user asks for now. */
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

  /** What holds for whatever this user asks for next. */
  #note<R extends Refusal | undefined>(refusal: R, key: string): R {
    if (refusal && this.#deps.table.ofUsers.includes(refusal.limit))
      this.#refused.set(key, { limit: refusal.limit, until: this.#deps.now() + refusal.wait });
    return refusal;
  }
}
