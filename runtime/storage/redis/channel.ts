import type { Redis } from 'ioredis';
import type { ReadSecret, RedisConfig } from '#lib/connections/redis-options';
import { connectRedis } from './connect.ts';
import type { RedisConnection } from './connection.ts';

export interface ChannelListener {
  readonly onEvent: (message: string) => void;
  /** Called when the subscription begins; earlier messages may have been missed. */
  readonly joined: () => void;
  readonly left: () => void;
  /** Called when the Redis user may not subscribe, with the first word of Redis's answer. */
  readonly refused: (reason: string) => void;
}

/** Milliseconds between pings: a dead connection without traffic would otherwise stay undetected. */
const ASK_EVERY_MS = 1_000;

/** Subscribes to one Redis channel over its own connection, and resubscribes after a disconnect. */
export class RedisChannel {
  readonly #name: string;
  readonly #listener: ChannelListener;
  readonly #connection: RedisConnection;
  readonly #timer: NodeJS.Timeout;
  #joined: Redis | undefined;
  readonly #whenJoined = Promise.withResolvers<undefined>();

  /** @throws ConfigError if an address is malformed or a file is unreadable */
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

  /** Resolves after the first subscription, at the latest after `ms`. */
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
      if (channel === this.#name) this.#listener.onEvent(message);
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

  /** Pings Redis. Without an answer in time, the connection is replaced. */
  #ask(): void {
    if (this.#connection.isReady) this.#connection.ask((redis) => redis.ping()).catch(() => undefined);
  }
}
