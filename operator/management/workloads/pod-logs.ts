import type { KubeApi } from '#operator/kubernetes/api/api';
import type { Place } from '#operator/kubernetes/api/object';
import { type LogSelection, readPodLog } from '#operator/kubernetes/api/read-pod-log';
import { Problem } from '../problem.ts';

/** Logs of pods that are read at once, for all callers together: each holds a connection to the API server as long as it goes on. */
export const MOST_POD_LOGS = 128;

export interface PodLog {
  place: Place;
  container: string;
}

type Pieces = AsyncGenerator<Uint8Array, void, void>;

/** Reads the logs of pods, and no more of them than it has connections for. */
export class PodLogs {
  readonly #api: Pick<KubeApi, 'stream'>;
  #open = 0;

  constructor(api: Pick<KubeApi, 'stream'>) {
    this.#api = api;
  }

  /** Pieces of each, counted until it has ended or `signal`. @throws Problem `unavailable` where too many are read already */
  read(logs: readonly PodLog[], selection: Omit<LogSelection, 'container'>): Pieces[] {
    if (this.#open + logs.length > MOST_POD_LOGS)
      throw new Problem('unavailable', `the logs of ${this.#open} pods are being read already: try again later`, {
        headers: { 'Retry-After': '5' },
      });
    return logs.map(({ place, container }) => {
      const release = this.#take(selection.signal);
      return untilEnd(readPodLog(this.#api, place, { container, ...selection }), release);
    });
  }

  /** Counts one, until what is returned is called for the first time, or `signal`. */
  #take(signal: AbortSignal): () => void {
    let isOpen = true;
    const release = (): void => {
      if (isOpen) this.#open -= 1;
      isOpen = false;
    };
    this.#open += 1;
    if (signal.aborted) release();
    else signal.addEventListener('abort', release, { once: true });
    return release;
  }
}

async function* untilEnd(pieces: Pieces, ended: () => void): Pieces {
  try {
    yield* pieces;
  } finally {
    ended();
  }
}
