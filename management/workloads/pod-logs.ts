import type { KubeApi } from '#operator/kubernetes/api/api';
import type { Place } from '#operator/kubernetes/api/object';
import { type LogSelection, readPodLog } from '#operator/kubernetes/api/read-pod-log';
import { CallerQuota } from '../caller-quota.ts';
import { releaseOnAbort } from '../release-on-abort.ts';

/** Logs of pods that are read at once, for all callers together: each holds a connection to the API server as long as it goes on. */
export const MOST_POD_LOGS = 128;
/** Those of one caller, and those of one namespace: who may make accounts there is many callers. */
const POD_LOGS_OF_ONE = MOST_POD_LOGS / 2;

export interface PodLog {
  place: Place;
  container: string;
}

type Pieces = AsyncGenerator<Uint8Array, void, void>;

/** Reads the logs of pods, and no more of them than it has connections for. */
export class PodLogs {
  readonly #api: Pick<KubeApi, 'stream'>;
  readonly #callers = new CallerQuota({
    total: MOST_POD_LOGS,
    perKey: POD_LOGS_OF_ONE,
    tell: (count) => `the logs of ${count} pods are being read`,
  });

  readonly #namespaces = new CallerQuota({
    perKey: POD_LOGS_OF_ONE,
    whose: 'in this namespace',
    tell: (count) => `the logs of ${count} pods are being read`,
  });

  constructor(api: Pick<KubeApi, 'stream'>) {
    this.#api = api;
  }

  /**
   * Pieces of each, counted until it has ended or `signal`.
   * @throws Problem where too many are read already: `too_many_requests` by this caller, `unavailable` by all
   */
  read(who: string, logs: readonly PodLog[], selection: Omit<LogSelection, 'container'>): Pieces[] {
    const { signal } = selection;
    const releases = this.#take(who, logs);
    releaseOnAbort(signal, () => {
      for (const release of releases) release();
    });
    return logs.map(({ place, container }, index) =>
      untilEnd(readPodLog(this.#api, place, { container, ...selection }), () => releases[index]?.()),
    );
  }

  /** All or none of them; each ends on its own. */
  #take(who: string, logs: readonly PodLog[]): (() => void)[] {
    const namespace = logs[0]?.place.namespace ?? '';
    this.#callers.check(who, logs.length);
    this.#namespaces.check(namespace, logs.length);
    return logs.map(() => {
      const releases = [this.#callers.take(who), this.#namespaces.take(namespace)];
      return () => {
        for (const release of releases) release();
      };
    });
  }
}

async function* untilEnd(pieces: Pieces, ended: () => void): Pieces {
  try {
    yield* pieces;
  } finally {
    ended();
  }
}
