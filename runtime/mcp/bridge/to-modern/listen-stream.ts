import { randomUUID } from 'node:crypto';
import type { Backend, BackendCall, RunningCall, StreamEvent } from '#runtime/mcp/backends/backend';
import { mayBeAway, type CallFailure, type FailureReason } from '#runtime/mcp/backends/failures';
import { modernHeaders } from '#runtime/mcp/backends/probe';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { callerMembers } from './caller-meta.ts';
import { paramsOf } from '../members-of.ts';
import { legacyNotification } from './legacy-answer.ts';

const METHOD = 'subscriptions/listen';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const FLAGS = { tools: 'toolsListChanged', prompts: 'promptsListChanged', resources: 'resourcesListChanged' } as const;
const FIRST_RETRY = 1_000;
const LAST_RETRY = 30_000;
const PASSING: ReadonlySet<FailureReason> = new Set(['timeout', 'busy']);

type Uris = ReadonlySet<string>;
type TakeUris = (uris: Uris | undefined) => void;

/** One `subscriptions/listen` request. */
interface Listening {
  /** JSON text of the filter. */
  readonly filter: string;
  readonly uris: Uris;
  running: RunningCall | undefined;
}

/**
 * The stream of a legacy session at a modern backend: the gateway's GET, served by `subscriptions/listen`. A change of the session's
 * subscriptions opens a new request, and the former one ends once the new one is acknowledged.
 */
export class ListenStream implements RunningCall {
  readonly isHeld = false;
  readonly #backend: Backend;
  readonly #call: BackendCall;
  readonly #ended: (stream: ListenStream) => void;
  /** The request that the backend acknowledged last. */
  #active: Listening | undefined;
  /** The newest request, before its acknowledgement. */
  #pending: Listening | undefined;
  /** The former request, which ended. Changes since then were missed. */
  #missed: Listening | undefined;
  /** Subscriptions that the backend refused. */
  readonly #refused = new Set<string>();
  #waiting: TakeUris[] = [];
  #timer: NodeJS.Timeout | undefined;
  #refreshing: NodeJS.Timeout | undefined;
  #failures = 0;
  #isOver = false;

  /** `call`: the GET. */
  constructor(backend: Backend, call: BackendCall, ended: (stream: ListenStream) => void) {
    this.#backend = backend;
    this.#call = call;
    this.#ended = ended;
    // Run after the caller has the stream, as with every other backend.
    this.#timer = setTimeout(() => {
      const ignore = () => undefined;
      call.sink.open({ pause: ignore, resume: ignore }, undefined);
      this.#listen();
    }, 0);
  }

  /**
   * Listens with the session's present subscriptions. Returns the URIs that the backend acknowledged, or undefined if it refused. `uri`:
   * the client asks for it now, so that a former refusal counts no more.
   */
  renew(uri: string): Promise<Uris | undefined> {
    this.#refused.delete(uri);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#listen();
    });
  }

  /** Another replica changed the session's subscriptions, in one or several steps. */
  refresh(): void {
    clearTimeout(this.#refreshing);
    this.#refreshing = setTimeout(() => {
      const { filter } = this.#wanted();
      if (!this.#isOver && filter !== (this.#pending ?? this.#active)?.filter) this.#listen();
    }, 0).unref();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#end('both');
    this.#settle(undefined);
    this.#ended(this);
  }

  #end(which: 'pending' | 'both'): void {
    const [pending, active] = [this.#pending, this.#active];
    this.#pending = undefined;
    pending?.running?.abort();
    if (which === 'pending') return;
    this.#active = undefined;
    active?.running?.abort();
  }

  #settle(uris: Uris | undefined): void {
    for (const take of this.#waiting.splice(0)) take(uris);
  }

  #wanted(): Pick<Listening, 'filter' | 'uris'> {
    const declared: unknown = JSON.parse(this.#backend.health.capabilities?.text ?? '[]');
    const capabilities: unknown = Array.isArray(declared) ? declared[0] : undefined;
    const filter: JsonObject = {};
    for (const [kind, flag] of Object.entries(FLAGS)) {
      const capability = isJsonObject(capabilities) ? capabilities[kind] : undefined;
      if (isJsonObject(capability) && capability.listChanged === true) filter[flag] = true;
    }
    const subscribed = [...(this.#call.session?.subscriptions ?? [])];
    const uris = subscribed.flatMap(([uri, owner]) =>
      owner === this.#backend.name && !this.#refused.has(uri) ? [uri] : [],
    );
    if (uris.length > 0) filter.resourceSubscriptions = uris;
    return { filter: JSON.stringify(filter), uris: new Set(uris) };
  }

  #listen(): void {
    if (this.#isOver) {
      this.#settle(undefined);
      return;
    }
    clearTimeout(this.#timer);
    const wanted = this.#wanted();
    if (wanted.filter === '{}') {
      this.#end('both');
      this.#settle(new Set());
      return;
    }
    this.#end('pending');
    const listening: Listening = { ...wanted, running: undefined };
    this.#pending = listening;
    listening.running = this.#send(listening);
  }

  #send(listening: Listening): RunningCall {
    const idText = `"${randomUUID()}"`;
    const meta = callerMembers(this.#call.session, false);
    const params = `{"notifications":${listening.filter},"_meta":{${meta}}}`;
    const ended = () => this.#closed(listening);
    return this.#backend.send({
      ...this.#call,
      era: 'modern',
      method: METHOD,
      idText,
      verb: 'POST',
      body: Buffer.from(`{"jsonrpc":"2.0","id":${idText},"method":"${METHOD}","params":${params}}`),
      headers: modernHeaders(METHOD),
      address: undefined,
      deadline: 0,
      sink: {
        json: () => this.#answered(listening),
        accepted: ended,
        open: () => undefined,
        event: (event) => this.#onEvent(event, listening),
        close: ended,
        fail: (failure) => this.#failed(failure, listening),
      },
    });
  }

  #onEvent({ data, message }: StreamEvent, listening: Listening): void {
    if (message?.kind !== 'notification' || this.#isOver) return;
    if (message.method === ACKNOWLEDGED) this.#acknowledged(listening, acknowledgedUris(data));
    // The former stream reports changes until the backend has acknowledged the new one.
    else if (listening === this.#active) {
      const clean = legacyNotification(data, message);
      this.#call.sink.event({ id: undefined, retry: undefined, data: clean, message: decodeBackendMessage(clean) });
    }
  }

  #acknowledged(listening: Listening, uris: Uris): void {
    if (listening !== this.#pending) return;
    const former = this.#active;
    this.#pending = undefined;
    this.#active = listening;
    this.#failures = 0;
    former?.running?.abort();
    for (const uri of listening.uris) if (!uris.has(uri)) this.#refused.add(uri);
    this.#settle(uris);
    if (this.#missed) this.#announce(this.#missed, uris);
    this.#missed = undefined;
  }

  #announce({ filter }: Listening, uris: Uris): void {
    const flags = JSON.parse(filter) as JsonObject;
    const emit = (method: string, params?: object) => {
      const data = JSON.stringify({ jsonrpc: '2.0', method, params });
      this.#call.sink.event({ id: undefined, retry: undefined, data, message: decodeBackendMessage(data) });
    };
    for (const [kind, flag] of Object.entries(FLAGS))
      if (flags[flag] === true) emit(`notifications/${kind}/list_changed`);
    for (const uri of uris) emit('notifications/resources/updated', { uri });
  }

  /** An error, as a listen request has no other answer. Without a former request, the backend is asked for its lists alone. */
  #answered(listening: Listening): void {
    if (listening === this.#active) this.#closed(listening);
    if (listening !== this.#pending) return;
    this.#pending = undefined;
    this.#settle(undefined);
    const former = this.#active?.uris;
    for (const uri of listening.uris) if (former?.has(uri) !== true) this.#refused.add(uri);
    if (!this.#active && listening.uris.size > 0) this.#listen();
  }

  #failed(failure: CallFailure, listening: Listening): void {
    if (mayBeAway(failure) || PASSING.has(failure.reason)) {
      this.#closed(listening);
      return;
    }
    if (listening !== this.#pending && listening !== this.#active) return;
    this.abort();
    this.#call.sink.fail(failure);
  }

  #closed(listening: Listening): void {
    if (this.#isOver || (listening !== this.#pending && listening !== this.#active)) return;
    if (listening === this.#active) {
      this.#active = undefined;
      this.#missed = listening;
    } else {
      this.#pending = undefined;
      this.#settle(undefined);
    }
    if (this.#pending) return;
    const delay = Math.min(FIRST_RETRY * 2 ** Math.min(this.#failures++, 5), LAST_RETRY);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#listen(), delay).unref();
  }
}

function acknowledgedUris(data: string): Uris {
  const { notifications } = paramsOf(data);
  const uris: unknown = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined;
  return new Set(Array.isArray(uris) ? uris.filter((uri): uri is string => typeof uri === 'string') : []);
}
