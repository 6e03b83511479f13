import type { ReadSecret, RedisConfig } from '#lib/connections/redis-options';
import { connectRedis } from '#runtime/storage/redis/connect';
import { createRecordSeal, type ServerIdentity } from './record-seal.ts';
import { ReplicaEvents, type ReplicaEvent } from './replica-events.ts';
import { SharedSessions, type SharedSessionsDeps } from './shared-sessions.ts';
import { tendAgainAndAgain } from './tend-sessions.ts';
import { RedisRecords } from './storage/redis-records.ts';
import type { SecretRing } from '#runtime/keys/secret-ring';

export interface SharingOptions extends Pick<
  SharedSessionsDeps,
  'table' | 'backends' | 'changedSince' | 'newKeysMayArrive' | 'evicted' | 'now' | 'wallClock' | 'log'
> {
  readonly redis: RedisConfig;
  readonly place: ServerIdentity;
  readonly ring: SecretRing;
  readonly readSecret: ReadSecret;
  readonly onEvent: (event: ReplicaEvent) => void;
  readonly missed: () => void;
}

export interface OpenSharing {
  readonly sessions: SharedSessions;
  tell(event: ReplicaEvent): void;
  close(): Promise<void>;
}

/** Redis need not be reachable yet. @throws ConfigError if an address is malformed or a file cannot be read */
export async function openSharedSessions(options: SharingOptions): Promise<OpenSharing> {
  const { redis, place, ring, readSecret, table, log, now } = options;
  const connection = connectRedis(redis, readSecret);
  const records = new RedisRecords(redis.key_prefix, connection);
  const seal = createRecordSeal(ring, place);
  const replicaEvents = new ReplicaEvents(
    redis,
    { records, seal, readSecret, log },
    {
      onEvent: (event) => {
        sessions.onEvent(event);
        options.onEvent(event);
      },
      joined: () => {
        sessions.missed();
        options.missed();
      },
    },
  );
  const tell = (event: ReplicaEvent) => replicaEvents.tell(event);
  const sessions = new SharedSessions({
    ...options,
    records,
    seal,
    tell,
    isSubscribed: () => replicaEvents.isSubscribed,
    now,
  });
  const tending = tendAgainAndAgain(sessions, () => table.limits, log);
  await Promise.all([connection.firstReady(redis.dial_timeout), replicaEvents.firstSubscribed(redis.dial_timeout)]);
  return {
    sessions,
    tell: (event) => void tell(event),
    async close() {
      await tending.stop();
      replicaEvents.close();
      connection.close();
    },
  };
}
