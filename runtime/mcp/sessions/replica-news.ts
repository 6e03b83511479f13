import { randomUUID } from 'node:crypto';
import { RedisChannel } from '#runtime/storage/redis/channel';
import type { ReadSecret, RedisConfig } from '#lib/connections/redis-options';
import type { Log } from '#runtime/telemetry/log';
import type { ListKind } from '../aggregate/list-kinds.ts';
import type { CallNews } from './call-news.ts';
import type { RecordSeal } from './record-seal.ts';
import type { RedisRecords } from './storage/redis-records.ts';

/** What the replicas of one server tell each other. Nothing is asked, and who does not hear it finds it out later. */
export type News =
  /** Fields of a session's record, as they are stored now; empty: gone. */
  | { readonly type: 'changed'; readonly key: string; readonly fields: Readonly<Record<string, string>> }
  | { readonly type: 'ended'; readonly keys: readonly string[] }
  /** The client opened this stream, so its other streams close. The replica of the stream receives the event, too. */
  | { readonly type: 'stream'; readonly key: string; readonly stream: string }
  | (CallNews & { readonly key: string })
  /** A backend said so; undefined: all of them may have changed. */
  | { readonly type: 'lists'; readonly backend?: string | undefined; readonly kinds: readonly ListKind[] }
  /** A user's links at providers have changed; `principal` is an `Identity.key`. */
  | { readonly type: 'links'; readonly principal: string };

export interface NewsListener {
  readonly heard: (news: News) => void;
  /** Everything is heard from now on; what came before may have been missed. */
  readonly joined: () => void;
}

interface NewsDeps {
  readonly records: Pick<RedisRecords, 'publish'>;
  readonly seal: RecordSeal;
  readonly readSecret: ReadSecret;
  readonly log: Log;
}

/** One channel for the replicas of a server. What is said there is sealed: nobody else reads it, or says it. */
export class ReplicaNews {
  readonly #name: string;
  readonly #from = randomUUID();
  readonly #deps: NewsDeps;
  readonly #listener: NewsListener;
  readonly #channel: RedisChannel;
  #isRefused = false;

  /** @throws ConfigError */
  constructor(config: RedisConfig, deps: NewsDeps, listener: NewsListener) {
    this.#name = `${config.key_prefix}news`;
    this.#deps = deps;
    this.#listener = listener;
    this.#channel = new RedisChannel(this.#name, config, deps.readSecret, {
      heard: (message) => this.#hear(message),
      joined: () => listener.joined(),
      left: () => undefined,
      refused: (reason) => this.#refused(reason),
    });
  }

  /** Nothing that the others say is missed. */
  get isHeard(): boolean {
    return this.#channel.isJoined;
  }

  firstHeard(ms: number): Promise<void> {
    return this.#channel.firstJoined(ms);
  }

  /** Returns whether it was published. */
  tell(news: News): Promise<boolean> {
    const sealed = this.#deps.seal.sealNews(JSON.stringify({ from: this.#from, news }));
    // Whoever is not told asks again when the connection is back.
    return this.#deps.records.publish(this.#name, sealed).then(
      () => true,
      () => false,
    );
  }

  close(): void {
    this.#channel.close();
  }

  #hear(message: string): void {
    try {
      const { from, news } = JSON.parse(this.#deps.seal.openNews(message)) as { from: string; news: News };
      if (from !== this.#from || news.type === 'stream') this.#listener.heard(news);
    } catch (error) {
      this.#deps.log.warn('what another replica said cannot be read', { error });
      // It may have been the end of a session.
      this.#listener.joined();
    }
  }

  /** Then every request asks Redis whether its session is there still. */
  #refused(reason: string): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#deps.log.warn('Redis lets its user not listen: each request of a session asks it instead', {
      channel: this.#name,
      reason,
    });
  }
}
