import type { RedisConnection } from '#runtime/storage/redis/connection';

/** Maximum milliseconds for the acknowledgement of a replica; normally it takes less than one. */
const WAIT_MS = 100;
const REPLICAS_BELIEVED_MS = 1_000;

/** Asks whether a replica has the writes of one connection. Concurrent callers share one question. */
export class Replication {
  readonly #connection: RedisConnection;
  readonly #now: () => number;
  readonly #waitMs: number;
  /** Without Sentinel, a Redis without replicas may be intended. */
  #expected: boolean;
  #replicas = { connected: 1, readAt: -Infinity };
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<boolean> | undefined;
  unacknowledged = 0;

  constructor(
    connection: RedisConnection,
    options: { readonly now: () => number; readonly expected: boolean; readonly readTimeout: number },
  ) {
    this.#connection = connection;
    this.#now = options.now;
    this.#expected = options.expected;
    this.#waitMs = Math.max(1, Math.min(WAIT_MS, Math.floor(options.readTimeout / 2)));
  }

  async acknowledged(): Promise<boolean> {
    const acknowledged = await this.#shared();
    if (!acknowledged && this.#expected) this.unacknowledged += 1;
    return acknowledged;
  }

  /** A running WAIT may miss the latest write, so the caller joins the next WAIT. */
  #shared(): Promise<boolean> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const asked = this.#ask().catch(() => false);
      this.#running = asked;
      return asked;
    });
    return this.#next;
  }

  async #ask(): Promise<boolean> {
    if ((await this.#connected()) === 0) return false;
    return (await this.#connection.ask((redis) => redis.wait(1, this.#waitMs))) >= 1;
  }

  /** Without replicas, WAIT would only block until its timeout. */
  async #connected(): Promise<number> {
    if (this.#now() - this.#replicas.readAt < REPLICAS_BELIEVED_MS) return this.#replicas.connected;
    const info = await this.#connection.ask((redis) => redis.info('replication'));
    const connected = Number(/^connected_slaves:(\d+)/m.exec(info)?.[1] ?? 0);
    this.#replicas = { connected, readAt: this.#now() };
    if (connected > 0) this.#expected = true;
    return connected;
  }
}
