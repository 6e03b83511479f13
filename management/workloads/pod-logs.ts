import type { KubeApi } from '#operator/kubernetes/api/api';
import type { ObjectKey } from '#operator/kubernetes/api/object';
import { type LogSelection, readPodLog } from '#operator/kubernetes/api/read-pod-log';
import { CallerQuota, releaseOnAbort } from '../caller-quota.ts';

/** All callers share this limit: each log holds a connection to the API server. */
export const MOST_POD_LOGS = 128;
/** One caller has this limit, and one namespace, whose members could create many accounts. */
const POD_LOGS_OF_ONE = MOST_POD_LOGS / 2;

export interface PodLog {
  place: ObjectKey;
  container: string;
}

type Pieces = AsyncGenerator<Uint8Array, void, void>;

/** Limits the concurrent reads of pod logs. */
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

  /** Counts each log until it ends or `signal` aborts. @throws Problem `too_many_requests` (this caller), `unavailable` (all callers) */
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

  /** Takes all logs or none; each is released on its own. */
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
