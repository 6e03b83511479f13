import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import type { Log } from '#runtime/telemetry/log';
import type { SessionLimits } from './session-limits.ts';
import type { SharedSessions } from './shared-sessions.ts';

/** Uses recorded per idle time. If a process dies, its sessions may end earlier by one such interval. */
const PARTS_OF_IDLE = 60;
const LONGEST_PAUSE = 30_000;
const SHORTEST_PAUSE = 100;

export function tendAgainAndAgain(
  sessions: SharedSessions,
  limits: () => SessionLimits,
  log: Log,
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
