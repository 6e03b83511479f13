import type { Redis } from 'ioredis';
import type { ReadSecret, RedisConfig } from '#lib/connections/redis-options';
import { connectRedis } from './connect.ts';
import type { RedisConnection } from './connection.ts';

export interface ChannelListener {
  readonly heard: (message: string) => void;
  /** From now on everything is heard; what was said before may have been missed. */
  readonly joined: () => void;
  /** Nothing is heard any more, until it is joined again. */
  readonly left: () => void;
  /** The user of this process may not listen: the first word of what Redis said. */
  readonly refused: (reason: string) => void;
}

/** A connection on which nothing happens may be dead for long without anybody knowing. */
const ASK_EVERY_MS = 1_000;

/** Listens to one channel of a Redis, over a connection of its own; joins again when that breaks. */
export class RedisChannel {
  readonly #name: string;
  readonly #listener: ChannelListener;
  readonly #connection: RedisConnection;
  readonly #timer: NodeJS.Timeout;
  #joined: Redis | undefined;
  readonly #whenJoined = Promise.withResolvers<undefined>();

  /** @throws ConfigError where an address is malformed or a file cannot be read */
  constructor(name: string, config: RedisConfig, readSecret: ReadSecret, listener: ChannelListener) {
    this.#name = name;
    this.#listener = listener;
    this.#connection = connectRedis(config, readSecret, {
      ready: (redis) => void this.#join(redis),
      lost: () => this.#leave(),
    });
    this.#timer = setInterval(() => this.#ask(), ASK_EVERY_MS).unref();
  }

  get isJoined(): boolean {
    return this.#joined !== undefined;
  }

  /** Resolves when it is joined for the first time, at the latest after `ms`. */
  async firstJoined(ms: number): Promise<void> {
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), ms);
    await Promise.race([this.#whenJoined.promise, late.promise]);
    clearTimeout(timer);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#leave();
    this.#connection.close();
  }

  async #join(redis: Redis): Promise<void> {
    redis.on('message', (channel: string, message: string) => {
      if (channel === this.#name) this.#listener.heard(message);
    });
    try {
      await redis.subscribe(this.#name);
    } catch (error) {
      const [reason = 'ERR'] = error instanceof Error ? (/^[A-Z]+\b/.exec(error.message) ?? []) : [];
      this.#listener.refused(reason);
      return;
    }
    if (redis.status !== 'ready') return;
    this.#joined = redis;
    this.#listener.joined();
    this.#whenJoined.resolve(undefined);
  }

  #leave(): void {
    if (!this.#joined) return;
    this.#joined = undefined;
    this.#listener.left();
  }

  /** No answer in time: the connection is given up and another one is made. */
  #ask(): void {
    if (this.#connection.isReady) this.#connection.ask((redis) => redis.ping()).catch(() => undefined);
  }
}
