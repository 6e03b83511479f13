import type { ReadSecret } from '#lib/connections/redis-options';
import type { RunConfig } from '#crds/run-config/run-config';
import type { Counters } from './counters.ts';
import { LimitTable } from './limit-table.ts';
import { MemoryCounters } from './memory-counters.ts';
import { RateLimits, type RateLimitsDeps } from './rate-limits.ts';

/** The limits of a configuration and their counters. The next configuration reuses the counters if possible. */
export interface OpenRateLimits {
  readonly limiter: RateLimits | undefined;
  readonly counters: Counters | undefined;
  readonly made: string | undefined;
  takeOver(): void;
  /** Returns the counters that the next configuration does not reuse. The caller closes them after their last request. */
  leave(next: OpenRateLimits): Counters | undefined;
  abandon(before: OpenRateLimits): void;
  close(): void;
}

interface OpenDeps extends Pick<RateLimitsDeps, 'now' | 'log' | 'count'> {
  readonly readSecret: ReadSecret;
}

type LimitsConfig = Pick<RunConfig, 'rate_limiting' | 'backends' | 'session_storage'>;

export const NO_LIMITS: OpenRateLimits = {
  limiter: undefined,
  counters: undefined,
  made: undefined,
  takeOver: () => undefined,
  leave: () => undefined,
  abandon: () => undefined,
  close: () => undefined,
};

/** Replicas that share sessions in Redis also count there. @throws ConfigError if an address is malformed or a file is unreadable */
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
    limiter: new RateLimits({ ...deps, table, counters }),
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

/** Loads the Redis client only if it is needed. */
async function openCounters(storage: RunConfig['session_storage'], { readSecret, now }: OpenDeps): Promise<Counters> {
  if (storage.type !== 'redis') return new MemoryCounters(now);
  const { openRedisCounters } = await import('./storage/redis-counters.ts');
  return openRedisCounters(storage.redis, readSecret);
}
