import { NoAnswer } from '#runtime/mcp/backends/ask';
import type { BackendCall, Flow, RunningCall } from '#runtime/mcp/backends/backend';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { askTask } from './ask-task.ts';
import type { BridgeParts } from './bridge-parts.ts';
import type { LegacyAnswer } from './legacy-answer.ts';
import { LegacyReply } from './legacy-reply.ts';
import { hasEnded } from '../../tasks/rewrite-task.ts';
import { errorAnswer, legacyTask, readTaskId, resultAnswer, type ModernTaskId } from './legacy-task.ts';
import { LegacyMessage } from './modern-body.ts';
import { TaskResult } from './task-result.ts';
import { TaskWait } from './task-wait.ts';

const INVALID_PARAMS = -32602;
/** The gateway writes all messages of the stream, and they are few. */
const NO_FLOW: Flow = { pause: () => undefined, resume: () => undefined };

/** A request of a legacy client about a task: `tasks/get`, `tasks/result` or `tasks/cancel`. */
export class BridgedTask implements RunningCall {
  readonly isHeld = false;
  readonly #parts: BridgeParts;
  readonly #call: BackendCall;
  readonly #legacy: LegacyMessage;
  /** As the layers above know it. */
  readonly #taskId: string;
  readonly #reply: LegacyReply;
  #wait: TaskWait | undefined;
  #isOver = false;

  constructor(parts: BridgeParts, call: BackendCall, body: Buffer) {
    this.#parts = parts;
    this.#call = call;
    this.#legacy = new LegacyMessage(call, body);
    const { params } = JSON.parse(body.toString('utf8')) as JsonObject;
    this.#taskId = String(isJsonObject(params) ? params.taskId : undefined);
    this.#reply = new LegacyReply(call, NO_FLOW);
  }

  start(): void {
    const task = readTaskId(this.#taskId);
    if (!task) this.#answerKept();
    else if (this.#legacy.method === 'tasks/result') this.#awaitResult(task);
    else void this.#answerState(task);
  }

  /** The task goes on: only `tasks/cancel` ends it. */
  abort(): void {
    if (this.#isOver) return;
    this.#wait?.close();
    this.#isOver = true;
  }

  #awaitResult({ id, tool }: ModernTaskId): void {
    const { method, idText, progressToken } = this.#legacy;
    const isWrapped = this.#parts.tools.isWrapped(tool);
    const asked = { method, idText, progressToken, isWrapped, taskId: this.#taskId, progress: 0 };
    const client = {
      emit: (data: string) => {
        if (!this.#isOver) this.#reply.write(data);
      },
      finish: (answer: LegacyAnswer) => this.#finish(answer),
      failed: (failure: CallFailure) => this.#fail(failure),
    };
    this.#wait = new TaskWait(this.#parts, this.#call, id, new TaskResult(asked, client));
    this.#wait.start();
  }

  async #answerState({ id }: ModernTaskId): Promise<void> {
    const { method, idText } = this.#legacy;
    try {
      const isCancel = method === 'tasks/cancel';
      const cancelled = isCancel ? await askTask(this.#parts.backend, this.#call, 'tasks/cancel', id) : undefined;
      const { result, text } =
        cancelled && !cancelled.result ? cancelled : await askTask(this.#parts.backend, this.#call, 'tasks/get', id);
      const { error } = JSON.parse(text) as JsonObject;
      if (!result) this.#finish(errorAnswer(idText, isJsonObject(error) ? error : {}));
      else if (isCancel && hasEnded(result) && result.status !== 'cancelled') this.#refuseCancel(result.status);
      else this.#finish(resultAnswer(idText, legacyTask(result, this.#taskId)));
    } catch (error) {
      const unknown = callFailure(this.#parts.backend.name, 'protocol', true, error);
      this.#fail(error instanceof NoAnswer ? error.failure : unknown);
    }
  }

  #answerKept(): void {
    const { cached } = this.#parts;
    const { method, idText } = this.#legacy;
    const task = cached.taskOf(this.#taskId);
    const answer = cached.answerOf(this.#taskId, idText);
    if (!task || !answer)
      this.#refuse('The result of this call is no longer here, or another replica has it: call the tool again');
    else if (method === 'tasks/cancel') this.#refuseCancel(task.status);
    else this.#finish(method === 'tasks/result' ? answer : resultAnswer(idText, task));
  }

  /** Servers of 2025-11-25 reject it. */
  #refuseCancel(status: unknown): void {
    this.#refuse(`The task has ended with status ${String(status)}, so it cannot be cancelled`);
  }

  #refuse(message: string): void {
    this.#finish(errorAnswer(this.#legacy.idText, { code: INVALID_PARAMS, message }));
  }

  #finish(answer: LegacyAnswer): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reply.finish(answer);
  }

  #fail(failure: CallFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.sink.fail(failure);
  }
}
