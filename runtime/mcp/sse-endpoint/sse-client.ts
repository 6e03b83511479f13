import type { IncomingMessage, ServerResponse } from 'node:http';
import { renderRpcError } from '#runtime/http/answer-error';
import type { Identity } from '#runtime/incoming/identity';
import type { Keeper, KeptBytes } from '#runtime/mcp/backends/kept-bytes';
import { ClientStream } from '#runtime/mcp/relay/client-stream';
import { writeSse } from '#runtime/mcp/sse/write-sse';
import { holdResponse, type AnswerTaker } from './held-response.ts';

/** Bytes that may wait for a client that does not read. */
const MAX_UNREAD = 16_777_216;
/** Messages of one stream that are worked on at a time: none of them holds a connection. */
const MAX_RUNNING = 256;
const KEEP_ALIVE = 25_000;
const LINE_ENDS = /[\r\n]/g;

/** One client of the HTTP+SSE transport: its stream, and the session that it has, once it was initialized. */
export class SseClient {
  readonly id: string;
  readonly identity: Identity;
  /** Of the session; undefined before `initialize` was answered. */
  sessionId: string | undefined;
  /** It has sent `initialize`. */
  hasBegun = false;
  readonly #res: ServerResponse;
  readonly #stream: ClientStream;
  readonly #kept: KeptBytes;
  readonly #held = new Set<ServerResponse>();
  readonly #keepAlive: NodeJS.Timeout;
  /** Requests whose answers are not out yet. */
  #running = 0;
  #isLeaving = false;

  constructor(id: string, identity: Identity, res: ServerResponse, kept: KeptBytes) {
    this.id = id;
    this.identity = identity;
    this.#res = res;
    this.#kept = kept;
    this.#stream = new ClientStream(res);
    this.#keepAlive = setInterval(() => this.#stream.write(': keep-alive\n\n'), KEEP_ALIVE).unref();
    res.once('close', () => this.#closed());
  }

  /** Opens the stream; its first event says where messages go, beside the stream's own path, whatever a proxy calls that. */
  open(): void {
    this.#stream.open();
    this.#stream.write(writeSse({ event: 'endpoint', data: `messages?sessionId=${this.id}` }));
  }

  /** It has as many messages under way as it may. */
  isBusy(): boolean {
    return this.#running >= MAX_RUNNING;
  }

  /** What answers a request of this client. Its answer goes out on the stream; `rpcId` is the request's, undefined: it has none. */
  answerTo(req: IncomingMessage, rpcId: string | undefined): ServerResponse {
    this.#running++;
    const over = () => {
      this.#running--;
      if (this.#isLeaving) this.leave();
    };
    return this.#hold(req, new StreamedAnswer(this, rpcId, this.#kept, over));
  }

  /** The response of the session's own stream, which becomes a part of this one; both end together. */
  general(req: IncomingMessage): ServerResponse {
    return this.#hold(req, new StreamedAnswer(this, undefined, this.#kept, () => this.leave()));
  }

  /** A whole message. */
  say(data: string): void {
    // Answers were asked for, so they may wait a while; a client that reads nothing is let go.
    if (this.#res.writableLength > MAX_UNREAD) this.#res.destroy();
    else if (!this.#res.writableEnded) this.#res.write(writeSse({ event: 'message', data }));
  }

  /** Whole events. `more` is called when the client has caught up. */
  pass(events: Buffer, more: () => void): void {
    if (this.#stream.write(events, { pause: () => undefined, resume: more })) more();
  }

  /** Ends the stream when what was asked is answered. */
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

  #closed(): void {
    clearInterval(this.#keepAlive);
    this.#isLeaving = true;
    for (const held of [...this.#held]) held.destroy();
  }
}

/** An answer as it was written for a connection of its own, made one for the stream: events pass, a document becomes one. */
class StreamedAnswer implements AnswerTaker, Keeper {
  kept = 0;
  readonly #client: SseClient;
  readonly #rpcId: string | undefined;
  readonly #keptBytes: KeptBytes;
  readonly #over: () => void;
  #status = 0;
  #isStream = false;
  #isTooMuch = false;
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(client: SseClient, rpcId: string | undefined, keptBytes: KeptBytes, over: () => void) {
    this.#client = client;
    this.#rpcId = rpcId;
    this.#keptBytes = keptBytes;
    this.#over = over;
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    this.#status = status;
    this.#isStream = headers.get('content-type') === 'text/event-stream';
    if (status === 200) this.#client.sessionId ??= headers.get('mcp-session-id');
  }

  body(piece: Buffer, more: () => void): void {
    if (this.#isStream) {
      this.#client.pass(piece, more);
      return;
    }
    this.#size += piece.length;
    this.#isTooMuch ||= !this.#keptBytes.tell(this, this.#size);
    if (this.#isTooMuch) this.#pieces = [];
    else this.#pieces.push(piece);
    more();
  }

  end(isWhole: boolean): void {
    this.#keptBytes.tell(this, 0);
    // A 202 in the place of an answer: the client has cancelled its request.
    if (this.#rpcId !== undefined && !this.#isStream && this.#status !== 202) this.#client.say(this.#document(isWhole));
    this.#over();
  }

  /** JSON-RPC, also of what had none of its own: the client waits on its stream alone. */
  #document(isWhole: boolean): string {
    if (!isWhole || this.#isTooMuch) return this.#error('The answer was cut off');
    const text = Buffer.concat(this.#pieces).toString('utf8').replaceAll(LINE_ENDS, ' ');
    if (this.#status === 200 || text.startsWith('{"jsonrpc"')) return text;
    return this.#error('The request was refused');
  }

  #error(text: string): string {
    return renderRpcError({ rpc: { code: -32603 }, text }, this.#rpcId);
  }
}
