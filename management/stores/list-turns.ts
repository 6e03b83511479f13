import { NoTurn, Turns } from '#operator/turns';
import { Problem } from '../problem.ts';
import { DEADLINE } from '../serving.ts';

/** Long lists that are read at the same time; of one namespace one at a time. */
export const LISTS_AT_ONCE = 2;
/** Those that wait: of one namespace, and of all. */
const QUEUE_OF_ONE = 16;
const QUEUE = 64;

interface ListTurnsOptions {
  atOnce?: number;
  queue?: number;
  /** Milliseconds until a list is given up, with the time that it waits for its turn: nobody waits for longer. */
  deadline?: number;
}

/** Lists of all namespaces that are long where somebody wants them to be: each is held whole until what is asked of it is known. */
export class ListTurns {
  readonly #turns: Turns;
  readonly #deadline: number;

  constructor({ atOnce = LISTS_AT_ONCE, queue = QUEUE, deadline = DEADLINE }: ListTurnsOptions = {}) {
    this.#turns = new Turns({ most: atOnce, each: 1, queue, queueOfOne: QUEUE_OF_ONE });
    this.#deadline = deadline;
  }

  /**
   * @param what is listed, as it is told: `the skills`
   * @throws Problem `unavailable`: too many wait, or it took too long; what `read` throws
   */
  async run<T>(
    namespace: string,
    what: string,
    read: (signal: AbortSignal) => Promise<T>,
    gone?: AbortSignal,
  ): Promise<T> {
    const late = AbortSignal.timeout(this.#deadline);
    const signal = gone ? AbortSignal.any([late, gone]) : late;
    try {
      return await this.#turns.run(signal, namespace, () => read(signal));
    } catch (cause) {
      if (!signal.aborted && !(cause instanceof NoTurn)) throw cause;
      const why = signal.aborted ? 'it took too long' : 'too many lists wait to be read';
      const told = `${what} of namespace "${namespace}" are not listed: ${why}; try again later`;
      throw new Problem('unavailable', told, { cause, headers: { 'Retry-After': '5' } });
    }
  }
}
