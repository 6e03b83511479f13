import type { IncomingMessage, ServerResponse } from 'node:http';
import { renderRpcError } from '#runtime/http/answer-error';
import type { Identity } from '#runtime/incoming/identity';
import type { Keeper, BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import { ClientStream } from '#runtime/mcp/relay/client-stream';
import { EVENT_OPENING, eventEnding, writeSse } from '#runtime/mcp/sse/write-sse';
import { toOneLine } from '#runtime/mcp/transports/one-line';
import { holdResponse, type AnswerTaker } from './held-response.ts';

/** Bytes. */
const MAX_UNREAD = 16_777_216;
/** None of these messages holds a connection. */
const MAX_RUNNING = 256;
const KEEP_ALIVE = 25_000;
/** In periods of `KEEP_ALIVE`. */
const MAX_TICKS_OF_LARGE = 12;
const LARGE_BYTES = 1_048_576;
const EVENT_END = Buffer.from('\n\n');
const JSON_RPC = Buffer.from('{"jsonrpc"');

/** A client of the HTTP+SSE transport: its stream and, after `initialize`, its session. */
export class SseClient {
  readonly id: string;
  readonly identity: Identity;
  /** Undefined before the answer to `initialize`. */
  sessionId: string | undefined;
  hasBegun = false;
  readonly #res: ServerResponse;
  readonly #stream: ClientStream;
  readonly #kept: BufferedBytes;
  readonly #held = new Set<ServerResponse>();
  readonly #keepAlive: NodeJS.Timeout;
  /** Requests whose answers are not sent yet. */
  #running = 0;
  #isLeaving = false;
  readonly #waiting: (() => void)[] = [];
  #ticksOfLarge = MAX_TICKS_OF_LARGE;

  constructor(id: string, identity: Identity, res: ServerResponse, kept: BufferedBytes) {
    this.id = id;
    this.identity = identity;
    this.#res = res;
    this.#kept = kept;
    this.#stream = new ClientStream(res);
    this.#keepAlive = setInterval(() => this.#stayAlive(), KEEP_ALIVE).unref();
    res.once('close', () => this.#closed());
  }

  /** The first event names the endpoint relative to the stream's path, so that proxies may change the path. */
  open(): void {
    this.#stream.open();
    this.#stream.write(writeSse({ event: 'endpoint', data: `messages?sessionId=${this.id}` }));
  }

  isBusy(): boolean {
    return this.#running >= MAX_RUNNING;
  }

  /** `rpcId` undefined: a notification. */
  answerTo(req: IncomingMessage, rpcId: string | undefined): ServerResponse {
    this.#running++;
    const over = () => {
      this.#running--;
      if (this.#isLeaving) this.leave();
    };
    return this.#hold(req, new StreamedAnswer(this, rpcId, this.#kept, over));
  }

  /** Merged into this stream; both end together. */
  general(req: IncomingMessage): ServerResponse {
    return this.#hold(req, new StreamedAnswer(this, undefined, this.#kept, () => this.leave()));
  }

  /** `act` is called when the client has read everything or has left. Keeps the order of the calls. */
  whenTaken(act: () => void): void {
    if (this.#waiting.length === 0 && !this.#isBehind()) {
      act();
      return;
    }
    if (this.#waiting.push(act) === 1) this.#res.once('drain', () => this.#callWaiting());
  }

  /** A large message is written when the client has read everything before it. */
  say(data: readonly Buffer[], isLarge = false): void {
    if (isLarge) this.#ticksOfLarge = 0;
    const isPassingLarge = this.#ticksOfLarge < MAX_TICKS_OF_LARGE && this.#isBehind();
    // Answers were requested, so they may wait a while. A client that reads nothing is disconnected.
    if (!isPassingLarge && this.#res.writableLength > MAX_UNREAD) {
      this.#res.destroy();
    } else if (!this.#res.writableEnded) {
      this.#res.write(EVENT_OPENING);
      for (const piece of data) this.#res.write(toOneLine(piece));
      this.#res.write(eventEnding({}));
    }
  }

  /** `more` is called when the client has caught up. */
  pass(events: readonly Buffer[], more: () => void, isLarge = false): void {
    if (isLarge) this.#ticksOfLarge = 0;
    let isTaken = true;
    const flow = { pause: () => undefined, resume: more };
    for (const piece of events) isTaken = this.#stream.write(piece, flow);
    if (isTaken) more();
  }

  cut(): void {
    this.#res.destroy();
  }

  /** Ends the stream when all requests are answered. */
  leave(): void {
    this.#isLeaving = true;
    if (this.#running === 0) this.#stream.end();
  }

  #hold(req: IncomingMessage, taker: AnswerTaker): ServerResponse {
    const held = holdResponse(req, taker);
    this.#held.add(held);
    held.once('close', () => this.#held.delete(held));
    return held;
  }

  #isBehind(): boolean {
    return this.#res.writableNeedDrain && !this.#res.destroyed;
  }

  #callWaiting(): void {
    while (this.#waiting.length > 0 && !this.#isBehind()) this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#res.once('drain', () => this.#callWaiting());
  }

  /** A client that is reading a large answer shows that the connection is alive. */
  #stayAlive(): void {
    this.#ticksOfLarge++;
    if (this.#isBehind() && this.#ticksOfLarge < MAX_TICKS_OF_LARGE) return;
    this.#stream.write(': keep-alive\n\n');
  }

  #closed(): void {
    clearInterval(this.#keepAlive);
    this.#callWaiting();
    this.#isLeaving = true;
    for (const held of [...this.#held]) held.destroy();
  }
}

/** Events pass through, a document becomes one event. */
class StreamedAnswer implements AnswerTaker, Keeper {
  kept = 0;
  readonly #client: SseClient;
  readonly #rpcId: string | undefined;
  readonly #bufferedBytes: BufferedBytes;
  readonly #over: () => void;
  #status = 0;
  #isStream = false;
  #pieces: Buffer[] = [];
  #size = 0;
  #more: (() => void) | undefined;
  #isHeld = false;

  constructor(client: SseClient, rpcId: string | undefined, bufferedBytes: BufferedBytes, over: () => void) {
    this.#client = client;
    this.#rpcId = rpcId;
    this.#bufferedBytes = bufferedBytes;
    this.#over = over;
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    this.#status = status;
    this.#isStream = headers.get('content-type') === 'text/event-stream';
    if (status === 200) this.#client.sessionId ??= headers.get('mcp-session-id');
  }

  body(piece: Buffer, more: () => void): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
    // Responses share the stream, so the pieces of an event must be written together.
    if (this.#isStream && piece.subarray(-EVENT_END.length).equals(EVENT_END)) {
      this.#passEvents(more);
      return;
    }
    this.#bufferedBytes.tell(this, this.#size);
    if (this.#isHeld) this.#more = more;
    else more();
  }

  end(isWhole: boolean): void {
    const isCut = this.#isStream && this.#size > 0;
    // The status is 202 if the client has cancelled its request.
    const hasAnswer = this.#rpcId !== undefined && this.#status !== 202;
    if (!hasAnswer || (this.#isStream && !isCut)) this.#finish();
    else if (this.#size > LARGE_BYTES && isWhole) this.#sayLarge(this.#document(!isCut));
    else this.#finish(this.#document(isWhole && !isCut));
  }

  #sayLarge(document: readonly Buffer[]): void {
    this.#client.whenTaken(() => {
      this.#client.say(document, true);
      this.#client.whenTaken(() => this.#finish());
    });
  }

  #finish(document?: readonly Buffer[]): void {
    if (document) this.#client.say(document);
    this.#takePieces();
    this.#over();
  }

  wait(): void {
    this.#isHeld = true;
  }

  get source(): string {
    return this.#client.id;
  }

  giveUp(): void {
    this.#client.cut();
  }

  goOn(): void {
    this.#isHeld = false;
    const more = this.#more;
    this.#more = undefined;
    more?.();
  }

  #passEvents(more: () => void): void {
    if (this.#size <= LARGE_BYTES) {
      this.#client.pass(this.#takePieces(), more);
      return;
    }
    this.#client.whenTaken(() => {
      const taken = () => {
        this.#takePieces();
        more();
      };
      this.#client.pass(this.#pieces, taken, true);
    });
  }

  #takePieces(): readonly Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#size = 0;
    this.#bufferedBytes.tell(this, 0);
    return pieces;
  }

  /** Returns a message in any case, because the client reads only its stream. */
  #document(isWhole: boolean): readonly Buffer[] {
    if (!isWhole) return this.#error('The answer was cut off');
    if (this.#status === 200 || this.#pieces[0]?.subarray(0, JSON_RPC.length).equals(JSON_RPC)) return this.#pieces;
    return this.#error('The request was refused');
  }

  #error(text: string): readonly Buffer[] {
    return [Buffer.from(renderRpcError({ rpc: { code: -32603 }, text }, this.#rpcId))];
  }
}
