import { type Redis, ReplyError, type RedisOptions } from 'ioredis';
import type { RedisScript } from './script.ts';
import { TimedRedis } from './timed-redis.ts';
import { StorageUnavailable } from '../storage-unavailable.ts';

/** More than that wait for an answer only where Redis is far too slow. */
const MAX_WAITING = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
/** Answers after which the connection leads to the wrong server, or is no longer signed in. */
const WRONG_SERVER = /READONLY|MASTERDOWN|NOAUTH/;

/** Who wants to know when there is a connection, and when there is none any more. */
export interface ConnectionWatch {
  /** It has just been made. */
  readonly ready: (redis: Redis) => void;
  readonly lost: () => void;
}

/** Milliseconds that Redis has to answer, and to take in what is sent. */
export interface Deadlines {
  readonly read: number;
  readonly write: number;
}

/**
 * One connection to the Redis that is the master now. While there is none, or it does not answer in time, everything fails at once
 * with StorageUnavailable, nothing is queued, and another connection is tried until there is one.
 */
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

  /** `options` are made anew for each attempt, which it counts, as passwords change. */
  constructor(options: (attempt: number) => RedisOptions, deadlines: Deadlines, watch?: ConnectionWatch) {
    this.#options = options;
    this.#deadlines = deadlines;
    this.#watch = watch;
    this.#connect();
  }

  /** Whether it is worth to ask. */
  get isReady(): boolean {
    return this.#ready !== undefined;
  }

  /** Resolves when it is connected for the first time, at the latest after `ms`. */
  async firstReady(ms: number): Promise<void> {
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), ms);
    await Promise.race([this.#whenReady.promise, late.promise]);
    clearTimeout(timer);
  }

  /** One question, one round trip. */
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

  /** Runs a script, which Redis forgets at a restart or failover: then it is sent again. */
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
      // It still listens to the Sentinels.
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

  /** A peer that takes nothing in: what is sent piles up in this process. */
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

/** Errors of Redis carry the command with its values, and may quote them: only the first word of an answer is kept. */
function withoutData(error: unknown): Error | undefined {
  if (error === undefined) return undefined;
  if (isAnswer(error)) return new Error(`answer ${/^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR'}`);
  return new Error(error instanceof Error ? error.message : 'unknown');
}
