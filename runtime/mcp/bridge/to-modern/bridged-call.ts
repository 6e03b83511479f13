import { randomUUID } from 'node:crypto';
import type { AnswerSink, Backend, BackendCall, Flow, RunningCall, StreamEvent } from '#runtime/mcp/backends/backend';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import {
  decodeBackendMessage,
  type AnswerKind,
  type BackendMessage,
} from '#runtime/mcp/envelope/decode-backend-message';
import type { Spans } from '#runtime/mcp/envelope/scan-envelope';
import { PROGRESS } from '#runtime/mcp/envelope/progress-token';
import { callerMembers, wantsLevel } from './caller-meta.ts';
import { missingCapability, readInputRequired, Round, stateMember, type InputRequired } from './client-input.ts';
import {
  COMPLETE,
  isHeaderMismatch,
  legacyAnswer,
  refusal,
  withoutResultType,
  type LegacyAnswer,
} from './legacy-answer.ts';
import type { LegacyTools } from './legacy-tools.ts';
import { LegacyMessage, modernBody, modernHeadersFor } from './modern-body.ts';
import { paramsOf, resultOf } from './members-of.ts';
import { sessionIdOf, type Questions } from './questions.ts';

const MAX_ROUNDS = 10;
/** Milliseconds before a call is sent again if the backend asks for nothing but its state. */
const STATE_ONLY = 250;
/** Milliseconds in which a server ends the stream of an answered request. Some never do. */
const STREAM_END = 1_000;
/** Methods whose result may require input. */
const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);
/** The lists of the gateway keep the time to live, and take no other modern member. */
const LISTS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

export interface BridgeParts {
  readonly backend: Backend;
  readonly tools: LegacyTools;
  readonly questions: Questions;
  /** Lists the tools until it knows this one. Never rejects. */
  readonly learn: (call: BackendCall, tool: string) => Promise<void>;
}

/** One request of a legacy client to a modern backend, with the rounds in which the backend asks for input. */
export class BridgedCall implements RunningCall, AnswerSink {
  readonly #parts: BridgeParts;
  readonly #call: BackendCall;
  readonly #legacy: LegacyMessage;
  readonly #flow: Flow = {
    pause: () => this.#roundFlow?.pause(),
    resume: () => this.#roundFlow?.resume(),
  };
  #running: RunningCall | undefined;
  #roundFlow: Flow | undefined;
  #rounds = 0;
  #round: Round | undefined;
  #timer: NodeJS.Timeout | undefined;
  #progress = -Infinity;
  #more = '';
  #isRelisted = false;
  #isOpen = false;
  /** The backend has answered this round. */
  #isAnswered = false;
  #isOver = false;

  constructor(parts: BridgeParts, call: BackendCall, body: Buffer) {
    this.#parts = parts;
    this.#call = call;
    this.#legacy = new LegacyMessage(call, body);
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
    const meta = callerMembers(this.#call.session, backend.health.capabilities?.logging === true);
    // Each round is a request of its own.
    const idText = this.#rounds === 0 ? first : `"${randomUUID()}"`;
    const isTool = method === 'tools/call' && target !== undefined;
    const params = isTool ? tools.headersFor(target, () => this.#legacy.givenArguments) : [];
    this.#running = backend.send({
      ...this.#call,
      era: 'modern',
      idText,
      body: modernBody(this.#legacy, meta, more, this.#rounds === 0 ? undefined : idText),
      headers: modernHeadersFor(this.#call, target, params),
      address: undefined,
      sink: this,
    });
  }

  abort(cancelled?: boolean): void {
    if (this.#isOver) return;
    if (cancelled === true) this.#withdrawQuestions();
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
    if (this.#isOver || this.#rounds > 0 || LISTS.has(method)) return undefined;
    return withoutResultType(body, spans, method === 'tools/call' && this.#parts.tools.isWrapped(target));
  }

  accepted(): void {
    this.#fail('protocol');
  }

  open(flow: Flow): void {
    this.#roundFlow = flow;
    // Most answers come with the head of their stream. One document costs less than a stream of one event.
    if (!this.#isOpen) process.nextTick(() => this.#open());
  }

  event({ data, message }: StreamEvent): void {
    if (this.#isOver || this.#isAnswered || !message) return;
    if (message.kind === 'response') this.#answered(data, message);
    else if (message.kind === 'notification' && this.#isForClient(data, message)) this.#write(data, message);
  }

  close(complete: boolean, isBroken?: boolean): void {
    if (this.#isOver) clearTimeout(this.#timer);
    if (this.#isOver || this.#isAnswered) return;
    this.#open();
    this.#end();
    this.#call.sink.close(complete, isBroken);
  }

  fail(failure: CallFailure): void {
    if (this.#isOver || this.#isAnswered) return;
    this.#end();
    this.#call.sink.fail(failure);
  }

  #isForClient(data: string, { method, spans }: BackendMessage): boolean {
    if (method === 'notifications/message') {
      const level = spans['params.level'];
      return wantsLevel(this.#call.session, level && JSON.parse(data.slice(level.start, level.end)));
    }
    if (method !== PROGRESS || this.#rounds === 0) return true;
    // Each round begins at 0 again, but the progress of one token only rises.
    const progress = paramsOf(data).progress;
    return typeof progress === 'number' && progress > this.#progress;
  }

  #write(data: string, message: BackendMessage): void {
    this.#open();
    if (message.method === PROGRESS) this.#progress = Math.max(this.#progress, Number(paramsOf(data).progress));
    this.#call.sink.event({ id: undefined, retry: undefined, data, message });
  }

  #answered(data: string, message: BackendMessage): void {
    if (this.#isOver) return;
    this.#isAnswered = true;
    const { method } = this.#call;
    if (method === 'tools/call' && !this.#isRelisted && isHeaderMismatch(data, message)) {
      this.#startAgain();
      return;
    }
    const type = message.spans['result.resultType'];
    const typeText = type === undefined ? COMPLETE : data.slice(type.start, type.end);
    if (typeText === '"input_required"' && MAY_ASK.has(method)) this.#ask(readInputRequired(resultOf(data)));
    else if (typeText !== COMPLETE) this.#fail('protocol');
    else this.#finish(this.#translate(data, message), message);
  }

  #translate(data: string, message: BackendMessage): LegacyAnswer {
    const { method } = this.#call;
    const { idText, target } = this.#legacy;
    const { tools } = this.#parts;
    if (LISTS.has(method) && message.answerKind !== 'error') {
      const changed = method === 'tools/list' ? tools.learn(resultOf(data)) : undefined;
      if (!changed) return { text: data, kind: message.answerKind };
      return { text: `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(changed)}}`, kind: 'result' };
    }
    const isWrapped = method === 'tools/call' && tools.isWrapped(target);
    return legacyAnswer(data, message, { method, idText, isWrapped });
  }

  #ask(input: InputRequired | undefined): void {
    const { session } = this.#call;
    this.#rounds++;
    const missing = input && missingCapability(input, session);
    if (!input) this.#fail('protocol');
    else if (this.#rounds > MAX_ROUNDS) this.#refuse(`The server still asked for input after ${MAX_ROUNDS} rounds`);
    else if (missing !== undefined) this.#refuse(`The client did not declare what ${missing} needs`);
    else if (input.requests.length === 0)
      this.#timer = setTimeout(() => this.send(stateMember(input)), STATE_ONLY).unref();
    else this.#askClient(input);
  }

  #askClient(input: InputRequired): void {
    this.#open();
    const ask = (data: string) => {
      const message = decodeBackendMessage(data);
      if (message) this.#call.sink.event({ id: undefined, retry: undefined, data, message });
    };
    const asked = { questions: this.#parts.questions, session: sessionIdOf(this.#call) };
    this.#round = new Round(input, asked, ask, (answers, reason) => {
      if (answers === undefined) this.#withdrawQuestions();
      this.#round = undefined;
      if (answers === undefined) this.#refuse(`The client did not give the input that the server asked for: ${reason}`);
      else this.send(`"inputResponses":${answers},${stateMember(input)}`);
    });
  }

  #withdrawQuestions(): void {
    for (const id of this.#round?.unanswered ?? []) {
      const data = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`;
      const message = decodeBackendMessage(data);
      if (message) this.#call.sink.event({ id: undefined, retry: undefined, data, message });
    }
  }

  #open(): void {
    if (this.#isOpen || this.#isOver) return;
    this.#isOpen = true;
    this.#call.sink.open(this.#flow, undefined);
  }

  #refuse(text: string): void {
    this.#finish(refusal(text, { method: this.#call.method, idText: this.#legacy.idText }));
  }

  /** `message`: the backend's answer. Undefined: the bridge made the answer. */
  #finish({ text, kind }: LegacyAnswer, message?: BackendMessage): void {
    this.#end();
    const { sink } = this.#call;
    // A response is passed on by its kind alone, so its former positions do no harm.
    const decoded = message?.hasReservedMeta === false ? message : decodeBackendMessage(text);
    if (this.#isOpen) {
      sink.event({ id: undefined, retry: undefined, data: text, message: decoded });
      sink.close(true);
    } else sink.json(200, Buffer.from(decoded?.cleanText(text) ?? text), kind, undefined);
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
    this.#round?.close();
  }
}
