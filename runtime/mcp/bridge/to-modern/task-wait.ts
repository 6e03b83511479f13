import { NoAnswer, type Answer } from '#runtime/mcp/backends/ask';
import type { Backend, BackendCall } from '#runtime/mcp/backends/backend';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { askTask } from './ask-task.ts';
import { readInputRequired } from './client-input.ts';
import { hasEnded } from '../../tasks/rewrite-task.ts';
import { InputRounds } from './input-rounds.ts';
import type { Questions } from './questions.ts';

/** Milliseconds between two polls. */
const INTERVAL = { least: 50, usual: 1_000, most: 10_000 };
/** Polls without an answer, one after the other. A backend may restart while it keeps its tasks. */
const MOST_FAILED = 3;

export interface TaskWaitHost {
  /** Sends a message to the client, on the stream of its request. */
  emit(data: string): void;
  /** The task has not ended. */
  polled(task: JsonObject): void;
  ended(task: JsonObject): void;
  /** The backend answers with an error to requests about the task. */
  rejected(error: JsonObject): void;
  /** The client did not give the input, and the task was cancelled. */
  refused(text: string): void;
  failed(failure: CallFailure): void;
}

interface TaskWaitDeps {
  readonly backend: Backend;
  readonly questions: Questions;
}

/** Polls a task of a modern backend until it ends, and asks the client for the input of the task. */
export class TaskWait {
  readonly #deps: TaskWaitDeps;
  readonly #call: BackendCall;
  readonly #id: string;
  readonly #host: TaskWaitHost;
  readonly #maximum: NodeJS.Timeout | undefined;
  readonly #rounds: InputRounds;
  /** Keys of the requests so far. A backend may list an answered one once more. */
  readonly #asked = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #failed = 0;
  #isOver = false;

  /** `id`: the backend's own. */
  constructor(deps: TaskWaitDeps, call: BackendCall, id: string, host: TaskWaitHost) {
    this.#deps = deps;
    this.#call = call;
    this.#id = id;
    this.#host = host;
    this.#rounds = new InputRounds(deps.questions, call, {
      emit: (data) => host.emit(data),
      answered: (more) => void this.#update(more),
      refused: (text) => this.#refuse(text),
    });
    const { maximum } = call;
    if (maximum !== undefined) this.#maximum = setTimeout(() => this.#tooLong(), maximum).unref();
  }

  /** `task`: its state, if it is known. */
  start(task?: JsonObject): void {
    if (task) this.#take(task);
    else void this.#poll();
  }

  /** Withdraws questions to the client. The task continues. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#maximum);
    this.#rounds.withdraw();
  }

  /** Cancels the task at its backend. */
  cancel(): void {
    if (!this.#isOver) this.close();
    askTask(this.#deps.backend, this.#call, 'tasks/cancel', this.#id).catch(() => undefined);
  }

  async #poll(): Promise<void> {
    try {
      const { result, errorText } = await this.#ask('tasks/get');
      if (this.#isOver) return;
      this.#failed = 0;
      if (result) this.#take(result);
      else this.#end(() => this.#host.rejected(JSON.parse(errorText) as JsonObject));
    } catch (error) {
      this.#noAnswer(error);
    }
  }

  async #ask(method: 'tasks/get' | 'tasks/update', more = ''): Promise<Answer & { errorText: string }> {
    const answer = await askTask(this.#deps.backend, this.#call, method, this.#id, more);
    const { error } = JSON.parse(answer.text) as JsonObject;
    return { ...answer, errorText: JSON.stringify(isJsonObject(error) ? error : {}) };
  }

  #noAnswer(error: unknown): void {
    if (this.#isOver) return;
    this.#failed += 1;
    const { backend } = this.#deps;
    const failure = error instanceof NoAnswer ? error.failure : callFailure(backend.name, 'protocol', true, error);
    if (this.#failed >= MOST_FAILED) this.#end(() => this.#host.failed(failure));
    else this.#pollIn(INTERVAL.usual);
  }

  #take(task: JsonObject): void {
    if (hasEnded(task)) {
      this.#end(() => this.#host.ended(task));
      return;
    }
    this.#host.polled(task);
    if (task.status === 'input_required' && !this.#rounds.isOpen) this.#askClient(task);
    const { pollIntervalMs } = task;
    if (!this.#isOver) this.#pollIn(typeof pollIntervalMs === 'number' ? pollIntervalMs : INTERVAL.usual);
  }

  #pollIn(milliseconds: number): void {
    const wait = Math.min(Math.max(milliseconds, INTERVAL.least), INTERVAL.most);
    this.#timer = setTimeout(() => void this.#poll(), wait).unref();
  }

  #askClient({ inputRequests }: JsonObject): void {
    const all = isJsonObject(inputRequests) ? Object.entries(inputRequests) : [];
    const unanswered = all.filter(([key]) => !this.#asked.has(key));
    const input = readInputRequired({ inputRequests: Object.fromEntries(unanswered) });
    if (!input) return;
    for (const [key] of unanswered) this.#asked.add(key);
    this.#rounds.ask(input);
  }

  async #update(more: string): Promise<void> {
    try {
      const { result, errorText } = await this.#ask('tasks/update', more);
      if (!result && !this.#isOver) this.#end(() => this.#host.rejected(JSON.parse(errorText) as JsonObject));
    } catch (error) {
      // The answers of the client are lost, so no poll would end this wait.
      this.#failed = MOST_FAILED;
      this.#noAnswer(error);
    }
  }

  #refuse(text: string): void {
    this.cancel();
    this.#host.refused(text);
  }

  #tooLong(): void {
    this.#end(() => this.#host.failed(callFailure(this.#deps.backend.name, 'timeout', true)));
  }

  #end(tell: () => void): void {
    if (this.#isOver) return;
    this.close();
    tell();
  }
}
