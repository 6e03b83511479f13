import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { hasEnded } from '../../tasks/rewrite-task.ts';

/** Milliseconds between two polls of one task. */
const INTERVAL = { least: 250, usual: 1_000, most: 10_000 };
/** Tasks of one subscription. */
const MOST = 100;
/** Polls without an answer, one after the other. */
const MOST_FAILED = 10;

interface TaskWatchOptions {
  /** Returns the state of a task. Undefined: the backend does not know it. */
  readonly look: (taskId: string) => Promise<JsonObject | undefined>;
  readonly changed: (task: JsonObject) => void;
}

/** Polls the tasks of one subscription, as only some legacy backends tell of changed tasks. */
export class TaskWatch {
  readonly #options: TaskWatchOptions;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #isOver = false;

  constructor(options: TaskWatchOptions) {
    this.#options = options;
  }

  /** Begins with the tasks that the backend knows. Returns their ids. */
  async begin(taskIds: unknown): Promise<string[]> {
    const wanted = (Array.isArray(taskIds) ? taskIds : []).filter((one) => typeof one === 'string').slice(0, MOST);
    const states = await Promise.all(wanted.map((taskId) => this.#options.look(taskId).catch(() => undefined)));
    return wanted.filter((taskId, index) => {
      const state = states[index];
      if (state) this.#next(taskId, state, undefined);
      return state !== undefined;
    });
  }

  close(): void {
    this.#isOver = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #next(taskId: string, state: JsonObject, told: string | undefined, failed = 0): void {
    const shown = JSON.stringify([state.status, state.statusMessage, state.inputRequests]);
    if (this.#isOver) return;
    if (failed === 0 && told !== undefined && told !== shown) this.#options.changed(state);
    // The client learns the end of a task that ended before its subscription.
    else if (told === undefined && hasEnded(state)) this.#options.changed(state);
    if (hasEnded(state) || failed >= MOST_FAILED) {
      this.#timers.delete(taskId);
      return;
    }
    const { pollIntervalMs: wished } = state;
    const wait = typeof wished === 'number' ? wished : INTERVAL.usual;
    const timer = setTimeout(
      () => void this.#poll(taskId, state, shown, failed),
      Math.min(Math.max(wait, INTERVAL.least), INTERVAL.most),
    );
    this.#timers.set(taskId, timer.unref());
  }

  async #poll(taskId: string, last: JsonObject, told: string, failed: number): Promise<void> {
    const state = await this.#options.look(taskId).catch(() => undefined);
    if (isJsonObject(state)) this.#next(taskId, state, told);
    else this.#next(taskId, last, told, failed + 1);
  }
}
