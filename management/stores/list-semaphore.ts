import { QueueFull, Semaphore } from '#lib/limits/semaphore';
import { Problem } from '../problem.ts';
import { DEADLINE } from '../serving.ts';

/** One list per namespace. */
export const LISTS_AT_ONCE = 2;
/** Per namespace, and of all namespaces. */
const QUEUE_PER_NAMESPACE = 16;
const QUEUE = 64;

interface ListSemaphoreOptions {
  atOnce?: number;
  queue?: number;
  /** Milliseconds for waiting and reading together. */
  deadline?: number;
}

/** Limits reads, because each list is held in memory until it is processed. */
export class ListSemaphore {
  readonly #semaphore: Semaphore;
  readonly #deadline: number;

  constructor({ atOnce = LISTS_AT_ONCE, queue = QUEUE, deadline = DEADLINE }: ListSemaphoreOptions = {}) {
    this.#semaphore = new Semaphore({ total: atOnce, perKey: 1, queue, queuePerKey: QUEUE_PER_NAMESPACE });
    this.#deadline = deadline;
  }

  /** Names the list as `what` in messages: `the skills`. @throws Problem `unavailable`: queue full or deadline; what `read` throws */
  async run<T>(
    namespace: string,
    what: string,
    read: (signal: AbortSignal) => Promise<T>,
    gone?: AbortSignal,
  ): Promise<T> {
    const late = AbortSignal.timeout(this.#deadline);
    const signal = gone ? AbortSignal.any([late, gone]) : late;
    try {
      return await this.#semaphore.run({ key: namespace, signal }, () => read(signal));
    } catch (cause) {
      if (!signal.aborted && !(cause instanceof QueueFull)) throw cause;
      const why = signal.aborted ? 'it took too long' : 'too many lists wait to be read';
      const told = `${what} of namespace "${namespace}" are not listed: ${why}; try again later`;
      throw new Problem('unavailable', told, { cause, headers: { 'Retry-After': '5' } });
    }
  }
}
