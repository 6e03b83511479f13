import { randomUUID } from 'node:crypto';
import type { AnswerSink, BackendCall, Flow, RunningCall, StreamEvent } from '#runtime/mcp/backends/backend';
import { offersTasks } from '#runtime/mcp/backends/health';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import {
  decodeBackendMessage,
  type AnswerKind,
  type BackendMessage,
} from '#runtime/mcp/envelope/decode-backend-message';
import type { JsonObject } from '#runtime/mcp/envelope/decode-request';
import type { Spans } from '#runtime/mcp/envelope/scan-envelope';
import { isListMethod } from '../../aggregate/list-kinds.ts';
import { takesInput } from '../../input-methods.ts';
import type { BridgeParts } from './bridge-parts.ts';
import { callerMembers } from './caller-meta.ts';
import { readInputRequired } from './client-input.ts';
import { InputRounds } from './input-rounds.ts';
import {
  COMPLETE,
  isHeaderMismatch,
  legacyAnswer,
  refusal,
  withoutResultType,
  type LegacyAnswer,
} from './legacy-answer.ts';
import { legacyTask, needsTask, resultAnswer, taskIdOf } from './legacy-task.ts';
import { LegacyReply } from './legacy-reply.ts';
import { LegacyMessage, modernBody, modernHeadersFor } from './modern-body.ts';
import { resultOf } from '../members-of.ts';
import { TaskResult } from './task-result.ts';
import { TaskWait } from './task-wait.ts';

/** Milliseconds in which a server ends the stream of an answered request. Some never do. */
const STREAM_END = 1_000;

/** One request of a legacy client to a modern backend, with the rounds in which the backend asks for input. */
export class BridgedCall implements RunningCall, AnswerSink {
  readonly #parts: BridgeParts;
  readonly #call: BackendCall;
  readonly #legacy: LegacyMessage;
  readonly #reply: LegacyReply;
  #rounds: InputRounds | undefined;
  #running: RunningCall | undefined;
  #roundFlow: Flow | undefined;
  #timer: NodeJS.Timeout | undefined;
  #more = '';
  #isRelisted = false;
  /** The call may return a task. */
  #takesTask: boolean;
  #task: TaskWait | undefined;
  /** The backend has answered this round. */
  #isAnswered = false;
  #isOver = false;

  constructor(parts: BridgeParts, call: BackendCall, body: Buffer) {
    this.#parts = parts;
    this.#call = call;
    this.#legacy = new LegacyMessage(call, body);
    this.#takesTask = this.#legacy.wantsTask;
    this.#reply = new LegacyReply(call, {
      pause: () => this.#roundFlow?.pause(),
      resume: () => this.#roundFlow?.resume(),
    });
  }

  get isHeld(): boolean {
    return this.#running?.isHeld ?? false;
  }

  /** Sends it. The headers of a call come from the tool's schema, which may be unknown. `more`: as for `send`. */
  start(more = ''): void {
    const { method, target } = this.#legacy;
    const { tools, learn } = this.#parts;
    if (method !== 'tools/call' || target === undefined || tools.has(target)) this.send(more);
    else void learn(this.#call, target).then(() => this.send(more));
  }

  /** The tool's schema may have changed since it was listed. */
  #startAgain(): void {
    this.#isRelisted = true;
    this.#parts.tools.forget(this.#legacy.target ?? '');
    this.start(this.#more);
  }

  /** `more`: as for `modernBody`. */
  send(more = ''): void {
    if (this.#isOver) return;
    this.#isAnswered = false;
    this.#more = more;
    // Some servers keep the stream of an answered request open.
    this.#running?.abort();
    this.#roundFlow = undefined;
    const { backend, tools } = this.#parts;
    const { method, target, idText: first } = this.#legacy;
    const { logging: logs = false } = backend.health.capabilities ?? {};
    const meta = callerMembers(this.#call.session, logs, this.#takesTask);
    // Each round is a request of its own.
    const isFirst = this.#rounds === undefined;
    const idText = isFirst ? first : `"${randomUUID()}"`;
    const given = () => this.#legacy.givenArguments;
    const params = method === 'tools/call' && target !== undefined ? tools.headersFor(target, given) : [];
    this.#running = backend.send({
      ...this.#call,
      era: 'modern',
      idText,
      body: modernBody(this.#legacy, meta, more, isFirst ? undefined : idText),
      headers: modernHeadersFor(this.#call, target, params),
      address: undefined,
      sink: this,
    });
  }

  abort(cancelled?: boolean): void {
    if (this.#isOver) return;
    if (cancelled === true) this.#rounds?.withdraw();
    this.#task?.cancel();
    this.#end();
    this.#running?.abort(cancelled);
  }

  awaitsClient(): boolean {
    return this.#call.sink.awaitsClient?.() ?? false;
  }

  json(_status: number, body: Buffer, kind: AnswerKind, _sessionId?: string, spans?: Spans): void {
    const simple = spans && this.#simpleAnswer(body, spans);
    if (simple) {
      this.#end();
      this.#call.sink.json(200, simple, kind, undefined);
      return;
    }
    const data = body.toString('utf8');
    const message = decodeBackendMessage(data);
    if (message) this.#answered(data, message);
    else this.#fail('protocol');
  }

  /** Most answers are the first ones, and need one edit. */
  #simpleAnswer(body: Buffer, spans: Spans): Buffer | undefined {
    const { method, target } = this.#legacy;
    if (this.#isOver || this.#rounds || this.#legacy.wantsTask || isListMethod(method)) return undefined;
    return withoutResultType(body, spans, method === 'tools/call' && this.#parts.tools.isWrapped(target));
  }

  accepted(): void {
    this.#fail('protocol');
  }

  open(flow: Flow): void {
    this.#roundFlow = flow;
    // Most answers come with the head of their stream. One document costs less than a stream of one event.
    process.nextTick(() => {
      if (!this.#isOver) this.#reply.open();
    });
  }

  event({ data, message }: StreamEvent): void {
    if (this.#isOver || this.#isAnswered || !message) return;
    if (message.kind === 'response') this.#answered(data, message);
    else if (message.kind === 'notification') this.#reply.notify(data, message, this.#rounds !== undefined);
  }

  close(complete: boolean, isBroken?: boolean): void {
    if (this.#isOver) clearTimeout(this.#timer);
    if (this.#isOver || this.#isAnswered) return;
    this.#reply.open();
    this.#end();
    this.#call.sink.close(complete, isBroken);
  }

  fail(failure: CallFailure): void {
    if (!this.#isAnswered) this.#failed(failure);
  }

  #failed(failure: CallFailure): void {
    if (this.#isOver) return;
    this.#end();
    this.#call.sink.fail(failure);
  }

  #emit(data: string): void {
    if (!this.#isOver) this.#reply.write(data);
  }

  #answered(data: string, message: BackendMessage): void {
    if (this.#isOver) return;
    this.#isAnswered = true;
    const { method } = this.#call;
    const isError = message.answerKind === 'error';
    if (isError && method === 'tools/call' && this.#isSentAgain(data, message)) return;
    const type = message.spans['result.resultType'];
    const typeText = type === undefined ? COMPLETE : data.slice(type.start, type.end);
    if (typeText === '"input_required"' && takesInput(method)) this.#ask(resultOf(data));
    else if (typeText === '"task"') this.#takeTask(resultOf(data));
    else if (typeText !== COMPLETE) this.#fail('protocol');
    else if (this.#legacy.wantsTask && !isError) this.#keep(this.#translate(data, message));
    else this.#finish(this.#translate(data, message), message);
  }

  /** Sends a call again, once, that the backend refused for its headers, or because it needs tasks. */
  #isSentAgain(data: string, message: BackendMessage): boolean {
    if (!this.#isRelisted && isHeaderMismatch(data, message)) {
      this.#startAgain();
      return true;
    }
    if (this.#takesTask || !needsTask(data)) return false;
    this.#takesTask = true;
    this.send(this.#more);
    return true;
  }

  #ask(result: JsonObject): void {
    const input = readInputRequired(result);
    this.#rounds ??= new InputRounds(this.#parts.questions, this.#call, {
      emit: (data) => this.#emit(data),
      answered: (more) => this.send(more),
      refused: (text) => this.#refuse(text),
    });
    if (input) this.#rounds.ask(input);
    else this.#fail('protocol');
  }

  #takeTask(task: JsonObject): void {
    const { taskId, ...state } = task;
    const { target = '', idText, wantsTask } = this.#legacy;
    const isTask = this.#call.method === 'tools/call' && typeof task.status === 'string';
    if (!isTask || typeof taskId !== 'string') this.#fail('protocol');
    else if (wantsTask) {
      const id = taskIdOf({ id: taskId, tool: target });
      this.#finish(resultAnswer(idText, { task: legacyTask(task, id) }));
    } else this.#awaitTask(taskId, state);
  }

  /** The client did not ask for a task, so it gets the result of the task. */
  #awaitTask(id: string, state: JsonObject): void {
    const { method, target, idText, progressToken } = this.#legacy;
    const isWrapped = this.#parts.tools.isWrapped(target);
    const asked = { method, idText, progressToken, isWrapped, progress: this.#reply.progress };
    const result = new TaskResult(asked, {
      emit: (data) => this.#emit(data),
      finish: (answer) => this.#finish(answer),
      failed: (failure) => {
        // The client does not know the id of the task.
        this.#task?.cancel();
        this.#failed(failure);
      },
    });
    this.#task = new TaskWait(this.#parts, this.#call, id, result);
    this.#task.start(state);
  }

  /** The client asked for a task, and the backend answered at once. */
  #keep(answer: LegacyAnswer): void {
    const task = this.#parts.cached.keep(answer, this.#call.identity.key);
    this.#finish(resultAnswer(this.#legacy.idText, { task }));
  }

  #translate(data: string, message: BackendMessage): LegacyAnswer {
    const { method } = this.#call;
    const { idText, target } = this.#legacy;
    const { tools } = this.#parts;
    if (isListMethod(method) && message.answerKind !== 'error') {
      const haveTasks = offersTasks(this.#parts.backend.health, 'legacy');
      const changed = method === 'tools/list' ? tools.learn(resultOf(data), haveTasks) : undefined;
      if (!changed) return { text: data, kind: message.answerKind };
      return { text: `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(changed)}}`, kind: 'result' };
    }
    const isWrapped = method === 'tools/call' && tools.isWrapped(target);
    return legacyAnswer(data, message, { method, idText, isWrapped });
  }

  #refuse(text: string): void {
    this.#finish(refusal(text, { method: this.#call.method, idText: this.#legacy.idText }));
  }

  /** `message`: the backend's answer. Undefined: the bridge made the answer. */
  #finish(answer: LegacyAnswer, message?: BackendMessage): void {
    this.#end();
    // A response is passed on by its kind alone, so its former positions do no harm.
    this.#reply.finish(answer, message?.hasReservedMeta === false ? message : undefined);
    // An abort closes the connection, which most servers leave for the next call.
    if (this.#roundFlow) this.#timer = setTimeout(() => this.#running?.abort(), STREAM_END).unref();
  }

  #fail(reason: CallFailure['reason']): void {
    if (this.#isOver) return;
    this.#end();
    this.#call.sink.fail(callFailure(this.#parts.backend.name, reason, true));
    this.#running?.abort();
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#rounds?.close();
    this.#task?.close();
  }
}
