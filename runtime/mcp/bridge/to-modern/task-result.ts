import type { CallFailure } from '#runtime/mcp/backends/failures';
import type { JsonObject } from '#runtime/mcp/envelope/decode-request';
import { PROGRESS } from '#runtime/mcp/envelope/progress-token';
import { refusal, type LegacyAnswer } from './legacy-answer.ts';
import { errorAnswer, legacyTask, outcomeOf } from './legacy-task.ts';
import type { TaskWaitHost } from './task-wait.ts';

const STATUS = 'notifications/tasks/status';

interface AskedResult {
  /** `tools/call` of a client that did not ask for a task, or `tasks/result`. */
  readonly method: string;
  /** JSON texts of the client's id and token. */
  readonly idText: string;
  readonly progressToken: string | undefined;
  /** Whether the tool's output schema was wrapped into an object. */
  readonly isWrapped: boolean;
  /** The id of the task that the layers above know. Undefined: the client knows no task. */
  readonly taskId?: string;
  /** The last progress that the client got. */
  readonly progress: number;
}

interface ResultClient {
  emit(data: string): void;
  finish(answer: LegacyAnswer): void;
  failed(failure: CallFailure): void;
}

/** Tells a legacy client of a task that is polled for it: progress, states, and the result. */
export class TaskResult implements TaskWaitHost {
  readonly emit: (data: string) => void;
  readonly failed: (failure: CallFailure) => void;
  readonly #asked: AskedResult;
  readonly #finish: (answer: LegacyAnswer) => void;
  #progress: number;
  #status: unknown;

  constructor(asked: AskedResult, client: ResultClient) {
    this.#asked = asked;
    this.#progress = Math.max(0, Math.floor(asked.progress));
    this.emit = (data) => client.emit(data);
    this.failed = (failure) => client.failed(failure);
    this.#finish = (answer) => client.finish(answer);
  }

  /** Progress keeps the clients waiting that give up after a while without any. */
  polled(task: JsonObject): void {
    const { progressToken, taskId } = this.#asked;
    if (progressToken !== undefined) {
      this.#progress += 1;
      const params = JSON.stringify({ progress: this.#progress, message: textOf(task.statusMessage) }).slice(1);
      this.emit(`{"jsonrpc":"2.0","method":"${PROGRESS}","params":{"progressToken":${progressToken},${params}}`);
    }
    if (taskId === undefined || task.status === this.#status) return;
    this.#status = task.status;
    this.emit(JSON.stringify({ jsonrpc: '2.0', method: STATUS, params: legacyTask(task, taskId) }));
  }

  ended(task: JsonObject): void {
    const { method, idText, isWrapped } = this.#asked;
    if (task.status === 'cancelled' && method === 'tools/call') this.refused('The task was cancelled at its server');
    else this.#finish(outcomeOf(task, idText, isWrapped));
  }

  rejected(error: JsonObject): void {
    this.#finish(errorAnswer(this.#asked.idText, error));
  }

  refused(text: string): void {
    this.#finish(refusal(text, this.#asked));
  }
}

/** Clients reject a whole message for one member of another type. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
