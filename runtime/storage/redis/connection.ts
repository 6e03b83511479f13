import { type Redis, ReplyError, type RedisOptions } from 'ioredis';
import type { RedisScript } from './script.ts';
import { TimedRedis } from './timed-redis.ts';
import { StorageUnavailable } from '../storage-unavailable.ts';

/** Limit of pending commands, which only a much too slow Redis reaches. */
const MAX_WAITING = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
/** Answers that show a connection to the wrong server, or one that is no longer authenticated. */
const WRONG_SERVER = /READONLY|MASTERDOWN|NOAUTH/;

export interface ConnectionWatch {
  readonly ready: (redis: Redis) => void;
  readonly lost: () => void;
}

/** Milliseconds in which Redis must answer, and must accept sent data. */
export interface Deadlines {
  readonly read: number;
  readonly write: number;
}

/** Without a connection or an answer in time, every command fails at once with StorageUnavailable; nothing is queued. Reconnects. */
export class RedisConnection {
  readonly #options: (attempt: number) => RedisOptions;
  readonly #deadlines: Deadlines;
  readonly #watch: ConnectionWatch | undefined;
  #current: Redis | undefined;
  #ready: Redis | undefined;
  #problem: unknown;
  #attempt = 0;
  #pause: NodeJS.Timeout | undefined;
  #sending: NodeJS.Timeout | undefined;
  #waiting = 0;
  #closed = false;
  readonly #whenReady = Promise.withResolvers<undefined>();

  /** `options` gets the number of the attempt and is called for each attempt, as passwords change. */
  constructor(options: (attempt: number) => RedisOptions, deadlines: Deadlines, watch?: ConnectionWatch) {
    this.#options = options;
    this.#deadlines = deadlines;
    this.#watch = watch;
    this.#connect();
  }

  get isReady(): boolean {
    return this.#ready !== undefined;
  }

  /** Resolves after the first connection, at the latest after `ms`. */
  async firstReady(ms: number): Promise<void> {
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), ms);
    await Promise.race([this.#whenReady.promise, late.promise]);
    clearTimeout(timer);
  }

  /** Runs one command with one round trip. */
  async ask<Answer>(question: (redis: Redis) => Promise<Answer>): Promise<Answer> {
    const redis = this.#ready;
    if (!redis) throw new StorageUnavailable('there is no connection to Redis', { cause: withoutData(this.#problem) });
    if (this.#waiting >= MAX_WAITING) throw new StorageUnavailable('Redis is too slow');
    this.#waiting += 1;
    try {
      const answer = question(redis);
      this.#watchSending(redis);
      return await answer;
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error;
      if (!isAnswer(error) || WRONG_SERVER.test(error.message)) this.#drop(redis, error);
      throw new StorageUnavailable('Redis did not do it', { cause: withoutData(error) });
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Runs a script. Redis drops scripts at a restart or failover; then the script is sent again. */
  run(script: RedisScript, ...values: (string | number)[]): Promise<unknown> {
    return this.ask(async (redis) => {
      try {
        return await redis.evalsha(script.sha, 0, ...values);
      } catch (error) {
        if (!isAnswer(error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return await redis.eval(script.lua, 0, ...values);
      }
    });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#pause);
    clearTimeout(this.#sending);
    this.#ready = undefined;
    this.#current?.disconnect();
    this.#current = undefined;
  }

  #connect(): void {
    if (this.#closed) return;
    let redis: Redis;
    try {
      redis = new TimedRedis(this.#options(this.#attempt), this.#deadlines.read);
    } catch (error) {
      this.#problem = error;
      this.#connectLater();
      return;
    }
    this.#current = redis;
    redis.on('error', (error) => {
      this.#problem = error;
    });
    redis.once('ready', () => {
      if (this.#current !== redis) return;
      this.#ready = redis;
      this.#attempt = 0;
      this.#whenReady.resolve(undefined);
      this.#watch?.ready(redis);
    });
    redis.once('close', () => this.#lose(redis));
    redis.once('end', () => {
      if (this.#current !== redis) return;
      this.#lose(redis);
      // A disconnect is necessary, as the client still listens to the Sentinels.
      redis.disconnect();
      this.#connectLater();
    });
  }

  #connectLater(): void {
    this.#current = undefined;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#attempt, 8));
    this.#attempt += 1;
    this.#pause = setTimeout(() => this.#connect(), pause);
  }

  #lose(redis: Redis): void {
    if (this.#ready !== redis) return;
    this.#ready = undefined;
    clearTimeout(this.#sending);
    this.#sending = undefined;
    this.#watch?.lost();
  }

  #drop(redis: Redis, problem: unknown): void {
    if (this.#current !== redis) return;
    this.#problem = problem;
    this.#lose(redis);
    redis.disconnect();
    this.#connectLater();
  }

  /** Watches a peer that accepts no data: otherwise sent data accumulates in this process. */
  #watchSending(redis: Redis): void {
    if (this.#sending || !redis.stream.writableNeedDrain) return;
    const timer = setTimeout(() => this.#drop(redis, new Error('write timed out')), this.#deadlines.write);
    this.#sending = timer;
    redis.stream.once('drain', () => {
      clearTimeout(timer);
      if (this.#sending === timer) this.#sending = undefined;
    });
  }
}

const isAnswer = (error: unknown): error is Error => error instanceof ReplyError;

/** Redis errors may contain the command with its values, so only the first word of an answer is kept. */
function withoutData(error: unknown): Error | undefined {
  if (error === undefined) return undefined;
  if (isAnswer(error)) return new Error(`answer ${/^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR'}`);
  return new Error(error instanceof Error ? error.message : 'unknown');
}
