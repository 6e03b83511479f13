import type { Log } from '#runtime/telemetry/log';
import type { Backend } from './backend.ts';

/** Milliseconds. A call with progress may last longer. */
const CALLS_END_WITHIN = 600_000;
const LOOK_EVERY = 20;

export interface Retiring extends Pick<Backend, 'name' | 'running' | 'bridged' | 'retire'> {
  close(): void | Promise<void>;
}

/** Each backend is closed once its running calls are over. */
export class RetiredBackends {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  /** Monotonic clock. */
  constructor(log: Log, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** `begun` returns whether requests from before the change may still start a call. */
  add(backends: readonly Retiring[], begun: () => boolean): void {
    for (const backend of backends) {
      const closing = this.#retire(backend, begun)
        .catch((error: unknown) => this.#log.error('a backend could not be closed', { backend: backend.name, error }))
        .finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#closing);
  }

  async #retire(backend: Retiring, begun: () => boolean): Promise<void> {
    const deadline = this.#now() + CALLS_END_WITHIN;
    try {
      await backend.retire?.();
      while (!this.#isClosed && (isInUse(backend) || begun()) && this.#now() < deadline) await pause();
    } finally {
      await backend.close();
    }
  }
}

function isInUse({ running, bridged }: Retiring): boolean {
  return running > 0 || (bridged?.parked ?? 0) > 0;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LOOK_EVERY).unref());
}
