import type { SecretRing } from '#runtime/keys/secret-ring';
import type { OpenSharing, SharingOptions } from './open-shared-sessions.ts';
import { createRecordSeal, type ServerIdentity } from './record-seal.ts';
import { SharedSessions } from './shared-sessions.ts';
import { openSqliteRecords } from './storage/sqlite-records.ts';
import { tendAgainAndAgain } from './tend-sessions.ts';

interface KeepingOptions extends Pick<
  SharingOptions,
  'table' | 'backends' | 'changedSince' | 'evicted' | 'now' | 'wallClock' | 'log'
> {
  readonly file: string;
  readonly place: ServerIdentity;
  readonly ring: SecretRing;
}

/** Sessions survive a restart. @throws ConfigError if the file cannot be used or another process uses it */
export async function openStoredSessions(options: KeepingOptions): Promise<OpenSharing> {
  const { file, place, ring, table, log, now, wallClock } = options;
  // Sessions do not age while the machine sleeps: the monotonic clock stands still.
  const offset = wallClock() - now();
  const records = await openSqliteRecords(file, () => now() + offset);
  const sessions = new SharedSessions({
    ...options,
    records,
    seal: createRecordSeal(ring, place),
    tell: () => Promise.resolve(true),
    isSubscribed: () => true,
    newKeysMayArrive: () => false,
  });
  const tending = tendAgainAndAgain(sessions, () => table.limits, log);
  return {
    sessions,
    tell: () => undefined,
    async close() {
      await tending.stop();
      records.close();
    },
  };
}
