import { createHash } from 'node:crypto';
import type { ReadSecret, RedisConfig } from '#lib/connections/redis-options';
import { connectRedis } from '#runtime/storage/redis/connect';
import type { RedisConnection } from '#runtime/storage/redis/connection';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import type { Counters } from '../counters.ts';
import type { Limit, Refusal } from '../limit.ts';
import { TAKE } from './take-script.ts';

/** Connects to Redis, which need not be reachable yet. @throws ConfigError if an address is malformed or a file is unreadable */
export async function openRedisCounters(config: RedisConfig, readSecret: ReadSecret): Promise<Counters> {
  const connection = connectRedis(config, readSecret);
  await connection.firstReady(config.dial_timeout);
  return new RedisCounters(config.key_prefix, connection);
}

/** Counts in Redis for all replicas, with one round trip per request. Keys reveal neither user nor tool. */
class RedisCounters implements Counters {
  readonly #prefix: string;
  readonly #redis: RedisConnection;

  constructor(prefix: string, redis: RedisConnection) {
    this.#prefix = prefix;
    this.#redis = redis;
  }

  async take(limits: readonly Limit[], user: string): Promise<Refusal | undefined> {
    const values = limits.flatMap((limit) => [keyOf(limit, user), limit.requests, limit.period]);
    const answer: unknown = await this.#redis.run(TAKE, this.#prefix, ...values);
    if (answer === 0) return undefined;
    const [at, wait] = Array.isArray(answer) ? answer.map(Number) : [];
    const limit = at === undefined ? undefined : limits[at - 1];
    if (!limit || wait === undefined) throw new StorageUnavailable('Redis gave an answer that is none');
    return { limit, wait };
  }

  /** Redis keys expire by themselves. */
  retain(): void {
    return;
  }

  close(): void {
    this.#redis.close();
  }
}

function keyOf({ id, perUser }: Limit, user: string): string {
  const text = JSON.stringify(perUser ? [id, user] : [id]);
  return `rate:${createHash('sha256').update(text).digest('base64url')}`;
}
