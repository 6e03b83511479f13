import { randomUUID } from 'node:crypto';
import { RedisChannel } from '#runtime/storage/redis/channel';
import type { ReadSecret, RedisConfig } from '#lib/connections/redis-options';
import type { Log } from '#runtime/telemetry/log';
import type { ListKind } from '../aggregate/list-kinds.ts';
import type { RetryEvent } from '../bridge/to-legacy/retry-event.ts';
import type { WatchEvent } from '../bridge/to-modern/watch-event.ts';
import type { CallEvent } from './call-event.ts';
import type { RecordSeal } from './record-seal.ts';
import type { RedisRecords } from './storage/redis-records.ts';

/** `news`: the event's field for replicas of other versions. */
type Message = { from: string } & Record<'news', ReplicaEvent>;

/** Events are not acknowledged; a replica that misses one reads the store later. */
export type ReplicaEvent =
  /** An empty value means that the field was removed. */
  | { readonly type: 'changed'; readonly key: string; readonly fields: Readonly<Record<string, string>> }
  | { readonly type: 'ended'; readonly keys: readonly string[] }
  /** The client's other streams close. The replica of the stream receives the event, too. */
  | { readonly type: 'stream'; readonly key: string; readonly stream: string }
  | (CallEvent & { readonly key: string })
  /** Without `backend`, all lists may have changed. */
  | { readonly type: 'lists'; readonly backend?: string | undefined; readonly kinds: readonly ListKind[] }
  /** `principal`: an `Identity.key`. */
  | { readonly type: 'links'; readonly principal: string }
  | RetryEvent
  | WatchEvent;

export interface ReplicaEventListener {
  readonly onEvent: (event: ReplicaEvent) => void;
  /** The subscription is complete. Earlier events may have been missed. */
  readonly joined: () => void;
}

interface ReplicaEventDeps {
  readonly records: Pick<RedisRecords, 'publish'>;
  readonly seal: RecordSeal;
  readonly readSecret: ReadSecret;
  readonly log: Log;
}

/** Messages are sealed: only the replicas of one server can read or write them. */
export class ReplicaEvents {
  readonly #name: string;
  readonly #from = randomUUID();
  readonly #deps: ReplicaEventDeps;
  readonly #listener: ReplicaEventListener;
  readonly #channel: RedisChannel;
  #isRefused = false;

  /** @throws ConfigError */
  constructor(config: RedisConfig, deps: ReplicaEventDeps, listener: ReplicaEventListener) {
    this.#name = `${config.key_prefix}news`;
    this.#deps = deps;
    this.#listener = listener;
    this.#channel = new RedisChannel(this.#name, config, deps.readSecret, {
      onEvent: (message) => this.#receive(message),
      joined: () => listener.joined(),
      left: () => undefined,
      refused: (reason) => this.#refused(reason),
    });
  }

  get isSubscribed(): boolean {
    return this.#channel.isJoined;
  }

  firstSubscribed(ms: number): Promise<void> {
    return this.#channel.firstJoined(ms);
  }

  tell(event: ReplicaEvent): Promise<boolean> {
    const sealed = this.#deps.seal.sealEvent(JSON.stringify({ from: this.#from, news: event }));
    // Replicas that miss an event read the store when they are connected again.
    return this.#deps.records.publish(this.#name, sealed).then(
      () => true,
      () => false,
    );
  }

  close(): void {
    this.#channel.close();
  }

  #receive(message: string): void {
    try {
      const { from, news: event } = JSON.parse(this.#deps.seal.openEvent(message)) as Message;
      if (from !== this.#from || event.type === 'stream') this.#listener.onEvent(event);
    } catch (error) {
      this.#deps.log.warn('an event of another replica cannot be read', { error });
      // The unreadable event may have ended a session.
      this.#listener.joined();
    }
  }

  /** Every request then checks in Redis whether its session exists. */
  #refused(reason: string): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#deps.log.warn('Redis lets its user not listen: each request of a session asks it instead', {
      channel: this.#name,
      reason,
    });
  }
}
