import type { RedisOptions } from 'ioredis';
import { UnusableRedisSettings, type ReadSecret, type RedisConfig, redisOptions } from '#lib/connections/redis-options';
import { ConfigError } from '#runtime/errors';
import { RedisConnection, type ConnectionWatch } from './connection.ts';

const DISCONNECT_TIMEOUT_MS = 100;
const KEEP_ALIVE_MS = 10_000;

/** Connects to the single Redis, or to the Sentinels' master. @throws ConfigError if an address is malformed or a file is unusable */
export function connectRedis(config: RedisConfig, readSecret: ReadSecret, watch?: ConnectionWatch): RedisConnection {
  const options = (attempt: number): RedisOptions => ({
    ...behaviour(config),
    ...redisOptions(config, readSecret, attempt),
  });
  // Reports errors at the start. Later, a temporarily missing file is only another failed attempt.
  try {
    options(0);
  } catch (error) {
    throw error instanceof UnusableRedisSettings
      ? new ConfigError(`storage.redis: ${error.message}`, { cause: error })
      : error;
  }
  return new RedisConnection(options, { read: config.read_timeout, write: config.write_timeout }, watch);
}

/** Disables queues and retries: callers get errors at once and decide about a retry. */
function behaviour({ dial_timeout }: RedisConfig): RedisOptions {
  return {
    connectTimeout: dial_timeout,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    keepAlive: KEEP_ALIVE_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    disableClientInfo: true,
  };
}
