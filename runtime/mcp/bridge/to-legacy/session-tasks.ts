import type { BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import type { JsonObject } from '#runtime/mcp/envelope/decode-request';
import { relatedTask } from '../members-of.ts';
import type { TaskInput } from './task-input.ts';
import { hasEnded } from '../../tasks/rewrite-task.ts';

/** Milliseconds for which a task keeps its session. */
const LONGEST = 86_400_000;
const USUAL = 3_600_000;
/** An ended task, so that a client can read its result again. */
const ENDED = 60_000;
const MOST = 1_000;

/** The tasks of one session at a legacy backend. The backend forgets them with the session. */
export class SessionTasks {
  /** The backend's own id to the time until which it keeps the session. */
  readonly #until = new Map<string, number>();
  /** Streams for the input of tasks, by the same ids. */
  readonly inputs = new Map<string, TaskInput>();

  /** `task`: its state at the backend. `now`: milliseconds of the monotonic clock. */
  note(id: string, task: JsonObject, now: number): void {
    const ttl = typeof task.ttl === 'number' ? task.ttl : USUAL;
    this.#until.delete(id);
    this.#until.set(id, now + Math.min(ttl, hasEnded(task) ? ENDED : LONGEST));
    const [oldest = id] = this.#until.keys();
    if (this.#until.size > MOST) this.#until.delete(oldest);
  }

  isAny(now: number): boolean {
    for (const [id, until] of this.#until) {
      if (now < until) return true;
      this.#until.delete(id);
    }
    return false;
  }

  /** Returns the stream for a request of the backend. A request for the input of a task names the task. */
  inputFor({ hasReservedMeta }: BackendMessage, data: string): TaskInput | undefined {
    const taskId = hasReservedMeta ? relatedTask(data) : undefined;
    return typeof taskId === 'string' ? this.inputs.get(taskId) : undefined;
  }
}
