import { ask, NoAnswer, type Answer } from '#runtime/mcp/backends/ask';
import type { BackendCall } from '#runtime/mcp/backends/backend';
import { callFailure } from '#runtime/mcp/backends/failures';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { hasEnded } from '../../tasks/rewrite-task.ts';
import type { BridgeDeps } from './bridge-deps.ts';
import type { BridgedSession } from './bridged-session.ts';
import {
  inlineResult,
  lostTask,
  modernTask,
  readTaskId,
  renderTask,
  taskIdOf,
  type LegacyTaskId,
} from './modern-task.ts';
import { objectAt } from './modern-message.ts';
import type { PendingRequest } from './pending-request.ts';
import type { SessionPool } from './session-pool.ts';
import type { TaskInput } from './task-input.ts';
import { renderError, type ModernAnswer } from './to-modern-answer.ts';

/** Milliseconds for one request about a task. */
const LONGEST = 60_000;
const INTERNAL_ERROR = -32603;

/** Serves requests of 2026-07-28 about tasks of one legacy backend. */
export class BridgedTasks {
  readonly #pool: SessionPool;
  readonly #deps: BridgeDeps;

  constructor(pool: SessionPool, deps: BridgeDeps) {
    this.#pool = pool;
    this.#deps = deps;
  }

  async serve(request: PendingRequest): Promise<void> {
    const { call, message } = request;
    const { idText = 'null' } = call;
    const { taskId, inputResponses } = objectAt(message.body, message.spans.params);
    const task = readTaskId(taskId);
    try {
      const answer =
        task && (await this.#inSession(task, call, (session) => this.#answer(task, session, call, inputResponses)));
      request.answer(answer ?? lostTask(idText));
    } catch (error) {
      const unexpected = callFailure(this.#deps.backend.name, 'protocol', true, error);
      const failure = error instanceof NoAnswer ? error.failure : unexpected;
      if (failure.reason === 'session_lost') request.answer(lostTask(idText));
      else request.deliver({ failure });
    }
  }

  /** Returns the state of a task. Undefined: the backend does not know it. @throws NoAnswer */
  async look(taskId: string, call: BackendCall): Promise<JsonObject | undefined> {
    const task = readTaskId(taskId);
    return (
      task &&
      this.#inSession(task, call, async (session) => {
        const { result } = await this.#ask('tasks/get', task, call, session);
        return result && this.#stateOf(result, task, call, session);
      })
    );
  }

  async #inSession<T>(
    task: LegacyTaskId,
    call: BackendCall,
    work: (session: BridgedSession) => Promise<T>,
  ): Promise<T> {
    const session = await this.#pool.resume(task, call);
    try {
      return await work(session);
    } finally {
      this.#pool.leave(session, false);
    }
  }

  async #answer(
    task: LegacyTaskId,
    session: BridgedSession,
    call: BackendCall,
    responses: unknown,
  ): Promise<ModernAnswer> {
    const { idText = 'null', method } = call;
    // The backend rejects the end of an ended task, which 2026-07-28 does not.
    if (method === 'tasks/cancel') await this.#ask('tasks/cancel', task, call, session);
    const { result: state, text } = await this.#ask('tasks/get', task, call, session);
    if (!state) return renderError(idText, errorOf(text));
    session.tasks.note(task.id, state, this.#deps.now());
    if (method === 'tasks/get') return renderTask(idText, await this.#stateOf(state, task, call, session), 'result');
    if (method === 'tasks/cancel') session.tasks.inputs.get(task.id)?.close();
    else if (isJsonObject(responses) && !hasEnded(state)) {
      const input = await this.#inputOf(task, call, session);
      input.answer(responses);
    }
    return renderTask(idText, {}, 'result');
  }

  async #stateOf(
    state: JsonObject,
    task: LegacyTaskId,
    call: BackendCall,
    session: BridgedSession,
  ): Promise<JsonObject> {
    const shown = modernTask(state, taskIdOf(task));
    if (state.status === 'input_required') {
      const input = await this.#inputOf(task, call, session);
      // Without a request the client can only wait: the backend works with the answers, or asks later.
      if (!input.hasRequests) return { ...shown, status: 'working' };
      return { ...shown, inputRequests: input.requests };
    }
    if (state.status !== 'completed' && state.status !== 'failed') return shown;
    const { result, text } = await this.#ask('tasks/result', task, call, session);
    // A tool's error is a result, and only a protocol error is a failure.
    if (result) return { ...shown, status: 'completed', result: inlineResult(result) };
    return { ...shown, status: 'failed', error: errorOf(text) };
  }

  /** Returns the stream of the task's requests, once the backend had time to send them. @throws NoAnswer */
  async #inputOf({ id }: LegacyTaskId, { maximum }: BackendCall, session: BridgedSession): Promise<TaskInput> {
    const input = session.tasks.inputs.get(id) ?? this.#pool.hold(session, id, maximum);
    await input.asked;
    return input;
  }

  #ask(method: string, { id }: LegacyTaskId, call: BackendCall, session: BridgedSession): Promise<Answer> {
    const { identity, deadline } = call;
    return ask(this.#deps.backend, {
      identity,
      era: 'legacy',
      method,
      paramsText: JSON.stringify({ taskId: id }),
      headers: session.headers,
      address: session.target.address,
      onRequest: (event) => session.take(event),
      deadline: Math.min(deadline || LONGEST, LONGEST),
    });
  }
}

function errorOf(text: string): JsonObject {
  const { error } = JSON.parse(text) as JsonObject;
  return isJsonObject(error) ? error : { code: INTERNAL_ERROR, message: 'The backend gave no result' };
}
