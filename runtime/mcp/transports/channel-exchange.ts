import type { BackendCall, Flow, RunningCall } from '#runtime/mcp/backends/backend';
import type { Deadlines, Expiring } from '#runtime/mcp/backends/deadlines';
import type { Keeper, BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import { callFailure, StillStarting, type CallFailure, type FailureReason } from '#runtime/mcp/backends/failures';
import { decodeBackendMessage, type AnswerKind } from '#runtime/mcp/envelope/decode-backend-message';
import type { CallEnd, Channel, LargeAnswerTaker, OneWayExchange } from './channel.ts';

export interface ExchangeHost {
  readonly name: string;
  readonly deadlines: Deadlines;
  readonly bufferedBytes: BufferedBytes;
  readonly isSilentStart: boolean;
  /** Called once. `failure` is undefined if there was an answer. */
  settled(exchange: ChannelExchange, failure: CallFailure | undefined): void;
}

interface UntakenAnswer {
  readonly pieces: Buffer[];
  readonly kind: AnswerKind;
  /** Bytes. */
  left: number;
}

const NO_FIELDS = { id: undefined, retry: undefined };
const METHOD_NOT_FOUND = -32601;
const FIRST_METHODS: ReadonlySet<string> = new Set(['initialize', 'server/discover']);

/** A message to the server of a channel, and its responses. */
export class ChannelExchange implements RunningCall, Expiring, Flow, Keeper, LargeAnswerTaker, OneWayExchange {
  readonly call: BackendCall;
  readonly deadline: number;
  readonly maximum: number;
  showedLife = true;
  expiresAt = Infinity;
  beganAt = 0;
  earlier: this | undefined;
  later: this | undefined;
  kept = 0;
  opens: string | undefined;
  /** Called in any case; `answer` is undefined without one. */
  onOver: ((answer: Buffer | undefined) => void) | undefined;
  readonly #host: ExchangeHost;
  #channel: Channel | undefined;
  #id: number | undefined;
  #isStream = false;
  #isPaused = false;
  #isOver = false;
  #large: UntakenAnswer | undefined;

  constructor(host: ExchangeHost, call: BackendCall) {
    this.#host = host;
    this.call = call;
    this.deadline = call.deadline;
    this.maximum = call.maximum ?? Infinity;
    if (this.deadline > 0) host.deadlines.add(this);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isHeld(): boolean {
    return this.#channel?.isHeld ?? false;
  }

  /** Returns the channel's number of the call. Undefined: it could not be sent. */
  begin(channel: Channel): number | undefined {
    const { body, idText } = this.call;
    if (this.#isOver || body === undefined || idText === undefined) return undefined;
    this.showedLife = true;
    this.#channel = channel;
    this.#id = channel.call({
      body,
      idText,
      from: this.call,
      onAnswer: (line, kind) => this.answer(line, kind),
      taker: this,
      onProgress: (line) => {
        this.showedLife = true;
        this.relay(line);
      },
      onEnd: (end) => this.#lose(end),
    });
    if (this.#id === undefined) this.fail(callFailure(this.#host.name, channel.isOver ? 'ended' : 'busy', false));
    return this.#id;
  }

  /** The answer may be the gateway's own. */
  answer(line: Buffer, kind: AnswerKind): void {
    if (this.#isOver) return;
    const { sink } = this.call;
    this.#finish(undefined, line);
    if (this.#isStream) {
      this.#emit(line);
      sink.close(true);
    } else {
      sink.json(200, line, kind, this.opens);
    }
  }

  /** Sends as fast as the client reads. The deadline runs while it reads nothing. */
  passLarge(pieces: Buffer[], kind: AnswerKind): void {
    if (this.#isOver) return;
    if (!this.call.sink.part || this.opens !== undefined) {
      this.answer(Buffer.concat(pieces), kind);
      return;
    }
    this.#channel = undefined;
    this.#large = { pieces, kind, left: pieces.reduce((sum, { length }) => sum + length, 0) };
    this.#isPaused = false;
    this.#pump(this.#large);
  }

  #pump(large: UntakenAnswer): void {
    const { sink } = this.call;
    this.showedLife = true;
    while (!this.#isPaused && !this.#isOver) {
      const piece = large.pieces.shift();
      if (piece === undefined) {
        this.#finish(undefined, undefined);
        sink.ended?.(large.kind, this.#isStream ? NO_FIELDS : undefined);
        if (this.#isStream) sink.close(true);
        return;
      }
      large.left -= piece.length;
      this.#host.bufferedBytes.tell(this, large.left);
      sink.part?.([piece], this);
    }
  }

  #reply(outcome: string, kind: AnswerKind): void {
    this.answer(Buffer.from(`{"jsonrpc":"2.0","id":${this.call.idText ?? 'null'},${outcome}}`), kind);
  }
  replyResult(result: string): void {
    this.#reply(`"result":${result}`, 'result');
  }
  replyUnknownMethod(): void {
    this.#reply(`"error":{"code":${METHOD_NOT_FOUND},"message":"Method not found"}`, 'error');
  }

  accept(): void {
    if (this.#isOver) return;
    this.#finish(undefined, undefined);
    this.call.sink.accepted();
  }

  listen(): void {
    if (this.#isOver || this.#isStream) return;
    this.#isStream = true;
    this.call.sink.open(this, undefined);
  }

  /** While the client does not read, only requests pass. */
  relay(line: Buffer): void {
    if (this.#isOver) return;
    this.listen();
    // Pausing the server would pause the calls of all clients, so a client that does not read loses notifications.
    if (!this.#isPaused || decodeBackendMessage(line)?.kind === 'request') this.#emit(line);
  }

  awaitsClient(): boolean {
    return this.call.sink.awaitsClient?.() ?? false;
  }

  fail(failure: CallFailure): void {
    if (this.#isOver) return;
    this.#finish(failure, undefined);
    this.call.sink.fail(failure);
  }

  end(): void {
    if (this.#isOver) return;
    this.#finish(undefined, undefined);
    this.call.sink.close(false);
  }

  expire(): void {
    // A client that does not read its answer says nothing about the server.
    this.#giveUp(this.#large ? 'aborted' : 'timeout');
  }

  #giveUp(reason: 'timeout' | 'aborted'): void {
    if (this.#isOver) return;
    if (this.#id !== undefined) this.#channel?.cancel(this.#id);
    const cause = reason === 'timeout' && this.#isStarting() ? new StillStarting() : undefined;
    this.fail(callFailure(this.#host.name, reason, this.#id !== undefined, cause));
  }

  get source(): string {
    return this.#host.name;
  }

  giveUp(): void {
    this.expire();
  }

  #isStarting(): boolean {
    return this.#channel ? !this.#channel.hasSpoken : this.#host.isSilentStart;
  }

  abort(cancelled = false): void {
    if (this.#isOver) return;
    if (cancelled) {
      this.#giveUp('aborted');
      return;
    }
    // Clients of 2026-07-28 cancel a request by closing its stream. A channel needs a message.
    if (this.#id !== undefined && this.call.era === 'modern') this.#channel?.cancel(this.#id);
    else if (this.#id !== undefined) this.#channel?.forget(this.#id);
    this.#finish(callFailure(this.#host.name, 'aborted', this.#id !== undefined), undefined);
  }

  pause(): void {
    this.#isPaused = true;
  }
  resume(): void {
    this.#isPaused = false;
    if (this.#large && !this.#isOver) this.#pump(this.#large);
  }

  #emit(line: Buffer): void {
    const data = line.toString('utf8');
    this.call.sink.event({ id: undefined, retry: undefined, data, message: decodeBackendMessage(data) });
  }

  #lose(end: CallEnd): void {
    if (typeof end === 'object') this.fail(end);
    else this.fail(callFailure(this.#host.name, end === 'too_large' ? end : this.#whyEnded(), true));
  }

  /** A process that ends before its first answer never served. */
  #whyEnded(): FailureReason {
    return FIRST_METHODS.has(this.call.method) ? 'unavailable' : 'ended';
  }

  #finish(failure: CallFailure | undefined, answer: Buffer | undefined): void {
    this.#isOver = true;
    this.#large = undefined;
    this.#host.bufferedBytes.tell(this, 0);
    this.#host.deadlines.delete(this);
    this.#host.settled(this, failure);
    this.onOver?.(answer);
  }
}
