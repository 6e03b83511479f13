import type { AnswerSink, Backend, BackendCall, RunningCall } from '#runtime/mcp/backends/backend';
import { callFailure, NotOpened, type CallFailure } from '#runtime/mcp/backends/failures';
import type { LargeData } from '#runtime/mcp/sse/parse-sse';
import { CallsInFlight } from './calls-in-flight.ts';
import type { Channel, ChannelCall, ChannelEvents, Noise, OneWayExchange } from './channel.ts';
import { LargeMessage } from './large-message.ts';
import { readEndpoint } from './read-endpoint.ts';

interface SseChannelSettings extends ChannelEvents {
  /** Each request has the credential of its caller. */
  readonly http: Pick<Backend, 'name' | 'send'>;
  readonly url: string;
  readonly first: BackendCall;
  /** Milliseconds in which a live server answers a ping. */
  readonly pingDeadline: number;
}

const MAX_WAITING = 1_000;
/** Milliseconds for a message without a deadline of its own. */
const POST_DEADLINE = 30_000;
/** Headers of streamable HTTP sessions, which have no meaning in this transport. */
const NOT_SENT: ReadonlySet<string> = new Set(['mcp-session-id', 'last-event-id']);
const ignore = () => undefined;

/** HTTP+SSE (revision 2024-11-05). */
export class SseChannel implements Channel {
  readonly #settings: SseChannelSettings;
  readonly #calls: CallsInFlight;
  #stream: RunningCall | undefined;
  /** Undefined until the server has sent it. */
  #endpoint: string | undefined;
  #waiting: (() => void)[] = [];
  #ping: NodeJS.Timeout | undefined;
  #isOver = false;

  /** Each call has its own deadline. */
  readonly hasSpoken = true;

  constructor(settings: SseChannelSettings) {
    this.#settings = settings;
    this.#calls = new CallsInFlight(settings.onUnsolicited);
    // An immediate refusal must not end the channel before it was returned.
    queueMicrotask(() => this.#open());
  }

  get noise(): Noise {
    return this.#calls.noise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isHeld(): boolean {
    return this.#stream?.isHeld ?? false;
  }

  call(call: ChannelCall): number | undefined {
    if (this.#isOver || this.#waiting.length >= MAX_WAITING) return undefined;
    const added = this.#calls.add(call);
    if (!added) return undefined;
    const { id, message } = added;
    this.#post(message, call.from, {
      isWanted: () => this.#calls.has(id),
      accepted: ignore,
      fail: (failure) => this.#lose(id, failure),
    });
    return id;
  }

  forget(id: number): void {
    this.#calls.delete(id);
  }

  cancel(id: number): void {
    const call = this.#calls.delete(id);
    if (!call) return;
    const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } };
    this.#post(Buffer.from(JSON.stringify(message)), call.from, { accepted: ignore, fail: ignore, isOneWay: true });
    this.#checkAlive();
  }

  send(body: Buffer, exchange?: OneWayExchange): boolean {
    if (this.#isOver || this.#waiting.length >= MAX_WAITING) return false;
    this.#post(body, exchange?.call, {
      accepted: () => exchange?.accept(),
      fail: (failure) => exchange?.fail(failure),
      isOneWay: true,
    });
    return true;
  }

  close(): Promise<void> {
    this.#end('was closed', callFailure(this.#settings.http.name, 'unavailable', true));
    return Promise.resolve();
  }

  #open(): void {
    if (this.#isOver) return;
    const { http, first } = this.#settings;
    const { name } = http;
    this.#stream = http.send({
      ...first,
      method: 'GET',
      idText: undefined,
      verb: 'GET',
      body: undefined,
      headers: sentHeaders(first.headers),
      deadline: 0,
      sink: {
        json: ignore,
        accepted: ignore,
        open: ignore,
        large: () => this.#takeLarge(),
        named: (event, data) => this.#takeNamed(event, data),
        event: ({ data, message }) => {
          if (message) this.#receive(data);
        },
        close: () => this.#end('closed its stream', callFailure(name, 'reset', this.#endpoint !== undefined)),
        fail: (failure) => this.#end('has no stream', this.#whyNotOpened(failure)),
      },
    });
    // The stream may have been refused at once.
    if (this.isOver) this.#stream.abort();
  }

  /** A lost session means that the stream itself was not found. */
  #whyNotOpened(failure: CallFailure): CallFailure {
    if (failure.reason !== 'session_lost' || this.#settings.first.address !== undefined) return failure;
    return callFailure(this.#settings.http.name, 'unavailable', false, new NotOpened('is not at its URL'));
  }

  #takeNamed(event: string | undefined, data: string): void {
    if (event !== 'endpoint' || this.#endpoint !== undefined || this.#isOver) return;
    const { http, url } = this.#settings;
    const endpoint = readEndpoint(data, url);
    if (endpoint === undefined) {
      const cause = new NotOpened('names an endpoint at another origin than its own, or none');
      this.#end(cause.message, callFailure(http.name, 'unavailable', false, cause));
      return;
    }
    this.#endpoint = endpoint;
    for (const send of this.#waiting.splice(0)) send();
  }

  #receive(data: string): void {
    this.#noteAlive();
    this.#calls.take(Buffer.from(data));
  }

  #takeLarge(): LargeData {
    const message = new LargeMessage();
    return {
      push: (bytes) => message.push(bytes),
      end: () => {
        this.#noteAlive();
        this.#calls.takeLarge(message.end());
      },
    };
  }

  #noteAlive(): void {
    clearTimeout(this.#ping);
    this.#ping = undefined;
  }

  #post(
    body: Buffer,
    from: BackendCall | undefined,
    sink: Pick<AnswerSink, 'accepted' | 'fail'> & { readonly isWanted?: () => boolean; readonly isOneWay?: boolean },
  ): void {
    const { http, first } = this.#settings;
    const { identity, method, headers, deadline, idempotent, isProbe = false } = from ?? first;
    const send = () => {
      if (this.#isOver || sink.isWanted?.() === false) return;
      http.send({
        identity,
        era: 'legacy',
        method,
        // The answer comes on the stream, so the body of the response does not count.
        idText: undefined,
        verb: 'POST',
        body,
        headers: sentHeaders(headers),
        address: first.address,
        path: this.#endpoint,
        deadline: deadline > 0 ? deadline : POST_DEADLINE,
        idempotent,
        isProbe,
        isOneWay: sink.isOneWay ?? false,
        sink: { ...sink, json: ignore, open: ignore, event: ignore, close: ignore },
      });
    };
    if (this.#endpoint === undefined) this.#waiting.push(send);
    else send();
  }

  /** Ignores a timeout of the POST, because the call has its own deadline. */
  #lose(id: number, failure: CallFailure): void {
    if (failure.reason === 'timeout') return;
    this.#calls.delete(id)?.onEnd(failure);
    if (failure.reason !== 'session_lost') return;
    this.#end('no longer knows its session', callFailure(this.#settings.http.name, 'unavailable', true));
  }

  /** Pings after a failed call, because a dead connection may give no sign. */
  #checkAlive(): void {
    if (this.#ping || this.#isOver) return;
    const { pingDeadline, http } = this.#settings;
    const check = () => {
      // The answer may have arrived but is not read yet.
      if (this.isHeld) this.#ping = setTimeout(check, pingDeadline).unref();
      else this.#end('no longer answers', callFailure(http.name, 'unavailable', true));
    };
    this.#ping = setTimeout(check, pingDeadline).unref();
    this.call({
      body: Buffer.from('{"jsonrpc":"2.0","id":0,"method":"ping"}'),
      idText: '0',
      onAnswer: ignore,
      onProgress: ignore,
      onEnd: ignore,
    });
  }

  #end(reason: string, failure: CallFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#ping);
    this.#waiting = [];
    this.#stream?.abort();
    this.#calls.endAll(failure);
    this.#settings.onExit(reason);
  }
}

function sentHeaders(headers: readonly string[]): string[] {
  const sent: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (!NOT_SENT.has(name)) sent.push(name, value);
  }
  return sent;
}
