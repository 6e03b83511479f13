import { randomUUID } from 'node:crypto';
import type { Backend, BackendCall, RunningCall, StreamEvent } from '#runtime/mcp/backends/backend';
import { mayBeAway, type CallFailure } from '#runtime/mcp/backends/failures';
import { modernHeaders } from '#runtime/mcp/backends/probe';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { callerMembers } from './caller-meta.ts';

const METHOD = 'subscriptions/listen';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const FLAGS = { tools: 'toolsListChanged', prompts: 'promptsListChanged', resources: 'resourcesListChanged' } as const;
const FIRST_RETRY = 1_000;
const LAST_RETRY = 30_000;

/** One `subscriptions/listen` request. */
interface Listening {
  running: RunningCall | undefined;
  /** Called once with the URIs that the backend acknowledged. Undefined: it refused, or did not answer. */
  readonly acknowledged: (uris: ReadonlySet<string> | undefined) => void;
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
  #current: Listening | undefined;
  #timer: NodeJS.Timeout | undefined;
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
      void this.renew();
    }, 0);
  }

  /** Listens with the session's present subscriptions. Returns the acknowledged URIs, or undefined if the backend refused. */
  async renew(): Promise<ReadonlySet<string> | undefined> {
    clearTimeout(this.#timer);
    const former = this.#current;
    const filter = this.#filter();
    if (this.#isOver || Object.keys(filter).length === 0) {
      this.#current = undefined;
      former?.running?.abort();
      return new Set();
    }
    const uris = await new Promise<ReadonlySet<string> | undefined>((resolve) => {
      const listening: Listening = { running: undefined, acknowledged: resolve };
      this.#current = listening;
      listening.running = this.#listen(filter, listening);
    });
    former?.acknowledged(undefined);
    former?.running?.abort();
    return uris;
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#current?.acknowledged(undefined);
    this.#current?.running?.abort();
    this.#ended(this);
  }

  #filter(): JsonObject {
    const declared: unknown = JSON.parse(this.#backend.health.capabilities?.text ?? '[]');
    const capabilities: unknown = Array.isArray(declared) ? declared[0] : undefined;
    const filter: JsonObject = {};
    for (const [kind, flag] of Object.entries(FLAGS)) {
      const capability = isJsonObject(capabilities) ? capabilities[kind] : undefined;
      if (isJsonObject(capability) && capability.listChanged === true) filter[flag] = true;
    }
    const uris = [...(this.#call.session?.subscriptions ?? [])].filter(([, owner]) => owner === this.#backend.name);
    if (uris.length > 0) filter.resourceSubscriptions = uris.map(([uri]) => uri);
    return filter;
  }

  #listen(filter: JsonObject, listening: Listening): RunningCall {
    const { session } = this.#call;
    const idText = `"${randomUUID()}"`;
    const meta = callerMembers(session, false);
    const params = `{"notifications":${JSON.stringify(filter)},"_meta":{${meta}}}`;
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
        // An error: the backend offers no subscriptions. The stream stays open without events.
        json: () => listening.acknowledged(undefined),
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
    if (message.method === ACKNOWLEDGED) {
      this.#failures = 0;
      listening.acknowledged(acknowledgedUris(data));
      return;
    }
    if (this.#current !== listening) return;
    const clean = message.cleanText(data);
    this.#call.sink.event({ id: undefined, retry: undefined, data: clean, message: decodeBackendMessage(clean) });
  }

  #failed(failure: CallFailure, listening: Listening): void {
    if (mayBeAway(failure) || failure.reason === 'timeout') {
      this.#closed(listening);
      return;
    }
    listening.acknowledged(undefined);
    if (this.#current !== listening || this.#isOver) return;
    this.abort();
    this.#call.sink.fail(failure);
  }

  /** The backend ended the stream. A change between two streams would be lost, so the lists count as changed. */
  #closed(listening: Listening): void {
    listening.acknowledged(undefined);
    if (this.#current !== listening || this.#isOver) return;
    const delay = Math.min(FIRST_RETRY * 2 ** Math.min(this.#failures++, 5), LAST_RETRY);
    this.#timer = setTimeout(() => void this.renew(), delay).unref();
  }
}

function acknowledgedUris(data: string): ReadonlySet<string> {
  const { params } = JSON.parse(data) as JsonObject;
  const notifications = isJsonObject(params) ? params.notifications : undefined;
  const uris: unknown = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined;
  return new Set(Array.isArray(uris) ? uris.filter((uri): uri is string => typeof uri === 'string') : []);
}
