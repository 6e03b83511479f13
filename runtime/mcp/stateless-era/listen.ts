import { ClientStream } from '#runtime/mcp/relay/client-stream';
import { writeSse } from '#runtime/mcp/sse/write-sse';
import { LIST_SPECS, type ListKind } from '../aggregate/list-kinds.ts';
import type { Backend, Flow, RunningCall, StreamEvent } from '../backends/backend.ts';
import { serves } from '../backends/health.ts';
import { isJsonObject, type JsonObject } from '../envelope/decode-request.ts';
import { kindsOfNotification } from '../aggregate/list-kinds.ts';
import { statelessHeaders } from '../backends/probe.ts';
import { invalidParams } from '../route/refusals.ts';
import { resolveUri } from '../route/resolve-target.ts';
import { statelessAsker, type StatelessRequest } from './stateless-request.ts';

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const UPDATED = 'notifications/resources/updated';
const MAX_URIS = 1_000;
const KEEP_ALIVE = 25_000;
const RETRY = 2_000;

const FLAGS: Partial<Record<ListKind, string>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
};

/** What a client wants to hear of. */
interface Filter {
  readonly kinds: ReadonlySet<ListKind>;
  readonly uris: readonly string[];
}

/** Answers subscriptions/listen: one stream, fed by the streams of all backends and by what the gateway itself announces. */
export async function listen(request: StatelessRequest): Promise<void> {
  const filter = readFilter(request.message.params?.notifications);
  const byBackend = await assignUris(filter.uris, request);
  await new Promise<void>((resolve) => new Subscription(request, filter, byBackend, resolve).start());
}

function readFilter(notifications: unknown): Filter {
  if (!isJsonObject(notifications)) throw invalidParams('subscriptions/listen needs params.notifications', 400);
  const { resourceSubscriptions: uris = [] } = notifications;
  if (!Array.isArray(uris) || uris.length > MAX_URIS || !uris.every((uri) => typeof uri === 'string')) {
    throw invalidParams(`resourceSubscriptions must be at most ${MAX_URIS} strings`, 400);
  }
  const kinds = (Object.keys(FLAGS) as ListKind[]).filter((kind) => notifications[FLAGS[kind] ?? ''] === true);
  return { kinds: new Set(kinds), uris };
}

/** Whose each URI is; those that this caller may not see are left out. */
async function assignUris(uris: readonly string[], request: StatelessRequest): Promise<Map<string, string[]>> {
  const { rooms } = request;
  const asker = statelessAsker(request);
  const assigned = new Map<string, string[]>();
  for (const uri of uris) {
    try {
      const { backend } = await resolveUri(uri, rooms.catalogues.of(asker), asker, rooms);
      assigned.set(backend.name, [...(assigned.get(backend.name) ?? []), uri]);
    } catch {
      // Unknown or hidden: it is missing from the acknowledgement, which is all that anybody is told.
    }
  }
  return assigned;
}

class Subscription {
  readonly #request: StatelessRequest;
  readonly #filter: Filter;
  readonly #byBackend: ReadonlyMap<string, readonly string[]>;
  readonly #resolve: () => void;
  readonly #client: ClientStream;
  readonly #running = new Map<string, RunningCall>();
  readonly #waiting = new Set<string>();
  readonly #acknowledged = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #held: string[] = [];
  #isOpen = false;
  #isOver = false;
  #unsubscribe: (() => void) | undefined;

  constructor(
    request: StatelessRequest,
    filter: Filter,
    byBackend: ReadonlyMap<string, readonly string[]>,
    resolve: () => void,
  ) {
    this.#request = request;
    this.#filter = filter;
    this.#byBackend = byBackend;
    this.#resolve = resolve;
    this.#client = new ClientStream(request.res);
  }

  start(): void {
    const { rooms, res } = this.#request;
    res.once('close', () => this.#end());
    this.#unsubscribe = rooms.announcer.subscribe((kinds) => this.#announce(kinds));
    const backends = rooms.backends.all.filter(({ health }) => serves(health, 'stateless'));
    for (const backend of backends) {
      this.#waiting.add(backend.name);
      this.#connect(backend);
    }
    this.#after(rooms.config.limits.list_deadline, () => this.#acknowledge());
    if (backends.length === 0) this.#acknowledge();
  }

  #connect(backend: Backend): void {
    const { identity, message } = this.#request;
    let flow: Flow | undefined;
    const ignore = () => undefined;
    const again = () => this.#again(backend);
    const body = this.#bodyFor(backend.name);
    this.#running.set(
      backend.name,
      backend.send({
        identity,
        era: 'stateless',
        method: message.method,
        idText: message.idText,
        verb: 'POST',
        body: Buffer.from(body),
        headers: statelessHeaders(message.method),
        deadline: 0,
        idempotent: true,
        sink: {
          json: () => this.#answered(backend.name),
          accepted: ignore,
          open: (opened) => {
            flow = opened;
          },
          event: (event) => this.#onEvent(backend, event, flow),
          close: again,
          fail: again,
        },
      }),
    );
  }

  #bodyFor(backend: string): string {
    const { message } = this.#request;
    const notifications: JsonObject = {};
    for (const kind of this.#filter.kinds) notifications[FLAGS[kind] ?? ''] = true;
    const uris = this.#byBackend.get(backend);
    if (uris) notifications.resourceSubscriptions = uris;
    const params = { ...message.params, notifications };
    return `{"jsonrpc":"2.0","id":${message.idText},"method":"${message.method}","params":${JSON.stringify(params)}}`;
  }

  #onEvent(backend: Backend, { data, message }: StreamEvent, flow: Flow | undefined): void {
    if (message?.kind !== 'notification') return;
    const kinds = kindsOfNotification(message.method ?? '');
    if (kinds.length > 0) this.#request.rooms.announcer.listChanged(backend.name, kinds);
    else if (message.method === ACKNOWLEDGED) this.#onAcknowledged(backend.name, data);
    else if (message.method === UPDATED) this.#onUpdated(backend.name, data, flow);
  }

  #onAcknowledged(backend: string, data: string): void {
    const own = this.#byBackend.get(backend) ?? [];
    for (const uri of acknowledgedUris(data)) if (own.includes(uri)) this.#acknowledged.add(uri);
    this.#answered(backend);
  }

  /** Only of resources that this backend was asked about: it cannot speak for another's. */
  #onUpdated(backend: string, data: string, flow: Flow | undefined): void {
    const params = paramsOf(data);
    const isAsked = typeof params.uri === 'string' && this.#byBackend.get(backend)?.includes(params.uri);
    if (isAsked) this.#send(UPDATED, { ...params, _meta: undefined }, flow);
  }

  /** This backend has said what it will tell, or that it will not. */
  #answered(backend: string): void {
    this.#waiting.delete(backend);
    if (this.#waiting.size === 0) this.#acknowledge();
  }

  /** The first message of the stream: what the backends together, and the gateway itself, will tell. */
  #acknowledge(): void {
    if (this.#isOpen || this.#isOver) return;
    this.#isOpen = true;
    const notifications: JsonObject = {};
    for (const kind of this.#filter.kinds) notifications[FLAGS[kind] ?? ''] = true;
    if (this.#filter.uris.length > 0) notifications.resourceSubscriptions = [...this.#acknowledged];
    this.#client.open();
    this.#client.write(this.#render(ACKNOWLEDGED, { notifications }));
    for (const text of this.#held) this.#client.write(text);
    this.#held = [];
    const keepAlive = setInterval(() => this.#client.write(': keep-alive\n\n'), KEEP_ALIVE);
    this.#timers.add(keepAlive.unref());
  }

  #announce(kinds: ReadonlySet<ListKind>): void {
    for (const kind of this.#filter.kinds) if (kinds.has(kind)) this.#send(LIST_SPECS[kind].changed, {});
  }

  #send(method: string, params: JsonObject, flow?: Flow): void {
    const text = this.#render(method, params);
    if (this.#isOpen) this.#client.write(text, flow);
    else if (this.#held.length < MAX_URIS) this.#held.push(text);
  }

  #render(method: string, params: JsonObject): string {
    const { id } = this.#request.message;
    const data = JSON.stringify({ jsonrpc: '2.0', method, params: { ...params, _meta: { [SUBSCRIPTION_ID]: id } } });
    return writeSse({ event: 'message', data });
  }

  #again(backend: Backend): void {
    this.#answered(backend.name);
    if (!this.#isOver)
      this.#after(RETRY, () => this.#connect(this.#request.rooms.backends.get(backend.name) ?? backend));
  }

  #after(delay: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#isOver) act();
    }, delay).unref();
    this.#timers.add(timer);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unsubscribe?.();
    for (const timer of this.#timers) clearTimeout(timer);
    for (const call of this.#running.values()) call.abort();
    this.#resolve();
  }
}

function paramsOf(data: string): JsonObject {
  try {
    const message: unknown = JSON.parse(data);
    return isJsonObject(message) && isJsonObject(message.params) ? message.params : {};
  } catch {
    return {};
  }
}

function acknowledgedUris(data: string): string[] {
  const { notifications } = paramsOf(data);
  const uris = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined;
  return Array.isArray(uris) ? uris.filter((uri): uri is string => typeof uri === 'string') : [];
}
