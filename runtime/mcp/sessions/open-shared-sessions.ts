import type { ReadSecret, RedisConfig } from '#crds/connections/redis-options';
import { connectRedis } from '#runtime/storage/redis/connect';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import { createRecordSeal, type RecordPlace } from './record-seal.ts';
import { ReplicaNews, type News } from './replica-news.ts';
import type { SessionLimits } from './session-limits.ts';
import { SharedSessions, type SharedSessionsDeps } from './shared-sessions.ts';
import { RedisRecords } from './storage/redis-records.ts';
import type { SecretRing } from '#runtime/keys/secret-ring';

export interface SharingOptions extends Pick<
  SharedSessionsDeps,
  'table' | 'backends' | 'changedSince' | 'newsMayCome' | 'evicted' | 'now' | 'wallClock' | 'log'
> {
  readonly redis: RedisConfig;
  readonly place: RecordPlace;
  readonly ring: SecretRing;
  readonly readSecret: ReadSecret;
  /** What concerns others than sessions. */
  readonly heard: (news: News) => void;
  /** News may have been missed. */
  readonly missed: () => void;
}

/** Sessions in a Redis, for as long as it is not closed. */
export interface OpenSharing {
  readonly sessions: SharedSessions;
  tell(news: News): void;
  /** Tells Redis at last what is in use here. */
  close(): Promise<void>;
}

/** How often Redis is told of use: so much earlier than it should a session may end whose replica has died. */
const PARTS_OF_IDLE = 60;
const LONGEST_PAUSE = 30_000;
const SHORTEST_PAUSE = 100;

/**
 * Shares the sessions of a replica. A Redis need not be reachable yet.
 * @throws ConfigError where an address is malformed or a file cannot be read
 */
export async function openSharedSessions(options: SharingOptions): Promise<OpenSharing> {
  const { redis, place, ring, readSecret, table, log, now } = options;
  const connection = connectRedis(redis, readSecret);
  const records = new RedisRecords(redis.key_prefix, connection);
  const seal = createRecordSeal(ring, place);
  const news = new ReplicaNews(
    redis,
    { records, seal, readSecret, log },
    {
      heard: (one) => {
        sessions.heard(one);
        options.heard(one);
      },
      joined: () => {
        sessions.missed();
        options.missed();
      },
    },
  );
  const tell = (one: News) => news.tell(one);
  const sessions = new SharedSessions({ ...options, records, seal, tell, isHeard: () => news.isHeard, now });
  const tending = tendAgainAndAgain(sessions, () => table.limits, log);
  await Promise.all([connection.firstReady(redis.dial_timeout), news.firstHeard(redis.dial_timeout)]);
  return {
    sessions,
    tell,
    async close() {
      await tending.stop();
      news.close();
      connection.close();
    },
  };
}

function tendAgainAndAgain(
  sessions: SharedSessions,
  limits: () => SessionLimits,
  log: SharingOptions['log'],
): { stop(): Promise<void> } {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const tend = () =>
    sessions.tend().catch((error: unknown) => {
      if (!(error instanceof StorageUnavailable)) log.error('records of sessions could not be tended', { error });
    });
  const later = () => {
    const pause = Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, limits().idle / PARTS_OF_IDLE));
    timer = setTimeout(() => {
      running = tend().then(() => (isStopped ? undefined : later()));
    }, pause).unref();
  };
  later();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
      await tend();
    },
  };
}
