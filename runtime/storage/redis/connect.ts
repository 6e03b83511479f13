import type { RedisOptions } from 'ioredis';
import { UnusableRedisSettings, type ReadSecret, type RedisConfig, redisOptions } from '#lib/connections/redis-options';
import { ConfigError } from '#runtime/errors';
import { RedisConnection, type ConnectionWatch } from './connection.ts';

const DISCONNECT_TIMEOUT_MS = 100;
const KEEP_ALIVE_MS = 10_000;

/**
 * A connection to the one Redis, or to the master that the Sentinels name, whoever that is at the moment.
 * @throws ConfigError where an address is malformed or a file of it cannot be used
 */
export function connectRedis(config: RedisConfig, readSecret: ReadSecret, watch?: ConnectionWatch): RedisConnection {
  const options = (attempt: number): RedisOptions => ({
    ...behaviour(config),
    ...redisOptions(config, readSecret, attempt),
  });
  // At the start a mistake is said; later on a file that is missing for a moment is only another failed attempt.
  try {
    options(0);
  } catch (error) {
    throw error instanceof UnusableRedisSettings
      ? new ConfigError(`storage.redis: ${error.message}`, { cause: error })
      : error;
  }
  return new RedisConnection(options, { read: config.read_timeout, write: config.write_timeout }, watch);
}

/** Nothing is queued or sent twice: whoever asked hears at once, and asks again or not. */
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
