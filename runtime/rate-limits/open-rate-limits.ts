import type { ReadSecret } from '#lib/connections/redis-options';
import type { RunConfig } from '#crds/run-config/run-config';
import type { Counters } from './counters.ts';
import { LimitTable } from './limit-table.ts';
import { MemoryCounters } from './memory-counters.ts';
import { RateLimits, type RateLimitsDeps } from './rate-limits.ts';

/** The limits of a configuration, and where they are counted; the next configuration goes on counting there if it can. */
export interface OpenRateLimits {
  /** Undefined: there is no limit. */
  readonly room: RateLimits | undefined;
  readonly counters: Counters | undefined;
  /** What the counters were made of. */
  readonly made: string | undefined;
  /** It is in force: what others counted is not kept. */
  takeOver(): void;
  /** Counters that the next does not go on with. The caller closes them, when requests that began with them are over. */
  leave(next: OpenRateLimits): Counters | undefined;
  /** It is not wanted after all: the other goes on. */
  abandon(before: OpenRateLimits): void;
  close(): void;
}

interface OpenDeps extends Pick<RateLimitsDeps, 'now' | 'log' | 'count'> {
  readonly readSecret: ReadSecret;
}

type LimitsConfig = Pick<RunConfig, 'rate_limiting' | 'backends' | 'session_storage'>;

/** Where nothing is limited. */
export const NO_LIMITS: OpenRateLimits = {
  room: undefined,
  counters: undefined,
  made: undefined,
  takeOver: () => undefined,
  leave: () => undefined,
  abandon: () => undefined,
  close: () => undefined,
};

/**
 * Several replicas share their sessions in a Redis, and there they count.
 * @throws ConfigError where an address is malformed or a file cannot be read
 */
export async function openRateLimits(
  config: LimitsConfig,
  before: OpenRateLimits,
  deps: OpenDeps,
): Promise<OpenRateLimits> {
  const table = new LimitTable(config);
  if (table.all.length === 0) return NO_LIMITS;
  const { session_storage: storage } = config;
  const made = JSON.stringify(storage.type === 'redis' ? storage.redis : null);
  const counters = before.counters && before.made === made ? before.counters : await openCounters(storage, deps);
  return {
    room: new RateLimits({ ...deps, table, counters }),
    counters,
    made,
    takeOver: () => counters.retain(table.all),
    leave: (next) => (next.counters === counters ? undefined : counters),
    abandon(former) {
      if (former.counters !== counters) counters.close();
    },
    close: () => counters.close(),
  };
}

/** What Redis needs is loaded with it. */
async function openCounters(storage: RunConfig['session_storage'], { readSecret, now }: OpenDeps): Promise<Counters> {
  if (storage.type !== 'redis') return new MemoryCounters(now);
  const { openRedisCounters } = await import('./storage/redis-counters.ts');
  return openRedisCounters(storage.redis, readSecret);
}
