import { endAtExpiry, streamClock } from '#runtime/http/end-at-expiry';
import { ClientStream } from '#runtime/mcp/relay/client-stream';
import { writeSse } from '#runtime/mcp/sse/write-sse';
import { LIST_SPECS, type ListKind } from '../aggregate/list-kinds.ts';
import type { Backend, Flow, RunningCall, StreamEvent } from '../backends/backend.ts';
import { isAway } from '../backends/health.ts';
import type { BackendMessage } from '../envelope/decode-backend-message.ts';
import type { JsonObject } from '../envelope/decode-request.ts';
import { kindsOfNotification } from '../aggregate/list-kinds.ts';
import { modernHeaders } from '../backends/probe.ts';
import { countedFor } from '../sessions/session-limits.ts';
import { TASK_CHANGED } from '../extensions.ts';
import { readTask, taskOpen } from '../tasks/rewrite-task.ts';
import {
  acknowledgedOf,
  isSubscribed,
  paramsOf,
  renderNotification,
  renderTask,
  SUBSCRIPTION_ID,
} from './subscription-events.ts';
import { assignTargets, FLAGS, readFilter, type Assigned, type Filter } from './subscription-filter.ts';
import type { ModernRequest } from './modern-request.ts';

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const UPDATED = 'notifications/resources/updated';
/** Notifications that arrive before all backends have acknowledged. */
const MAX_HELD = 1_000;
const KEEP_ALIVE = 25_000;
const RETRY = 2_000;
/** Milliseconds that the acknowledgement waits for backends that only announce lists. */
const SOON = 250;

/** Answers subscriptions/listen: merges the streams of all backends and the gateway's own announcements. */
export async function listen(request: ModernRequest): Promise<void> {
  const filter = readFilter(request);
  // The client may have left during authentication; no further close event follows.
  if (hasLeft(request)) return;
  const { identity, services, requestRecord } = request;
  const leave = services.streams.take(countedFor(identity, requestRecord.req, services));
  request.res.once('close', leave);
  const byBackend = await assignTargets(filter, request);
  if (hasLeft(request)) return;
  await new Promise<void>((resolve) => new Subscription(request, filter, byBackend, resolve).start());
}

function hasLeft({ res }: ModernRequest): boolean {
  return res.destroyed;
}

interface Connection {
  readonly backend: Backend;
  call: RunningCall | undefined;
}

class Subscription {
  readonly #request: ModernRequest;
  readonly #filter: Filter;
  readonly #resolve: () => void;
  readonly #client: ClientStream;
  readonly #running = new Map<string, Connection>();
  readonly #waiting = new Set<string>();
  readonly #acknowledged = { uris: new Set<string>(), taskIds: new Set<string>() };
  /** Backends whose stream ended. Changes since then were missed. */
  readonly #missed = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #held: string[] = [];
  #byBackend: ReadonlyMap<string, Assigned>;
  #policies: string;
  #isOpen = false;
  #isOver = false;
  #unsubscribe: (() => void) | undefined;

  constructor(request: ModernRequest, filter: Filter, byBackend: ReadonlyMap<string, Assigned>, resolve: () => void) {
    this.#request = request;
    this.#filter = filter;
    this.#byBackend = byBackend;
    this.#policies = request.services.authorizer.id;
    this.#resolve = resolve;
    this.#client = new ClientStream(request.res);
  }

  start(): void {
    const { services, res, identity } = this.#request;
    res.once('close', () => this.#end());
    endAtExpiry(res, identity, streamClock(services));
    this.#unsubscribe = services.listChangedNotifier.subscribe({
      principal: identity.key,
      changed: (kinds) => this.#changed(kinds),
      end: () => this.#finish(),
    });
    const backends = services.backends.all.filter(({ health }) => !isAway(health));
    for (const backend of backends) {
      this.#waiting.add(backend.name);
      this.#connect(backend);
    }
    // Clients wait for the acknowledgement first. Only the backend of a resource can confirm its subscription.
    const isNeeded = backends.some(({ name }) => this.#byBackend.has(name));
    this.#after(isNeeded ? services.config.limits.list_deadline : SOON, () => this.#acknowledge());
    if (backends.length === 0) this.#acknowledge();
  }

  #changed(kinds: ReadonlySet<ListKind>): void {
    this.#announce(kinds);
    const services = this.#request.services.latest();
    if (services.authorizer.id === this.#policies) this.#follow();
    else void this.#assignAgain();
  }

  #follow(): void {
    const { backends } = this.#request.services.latest();
    for (const name of this.#running.keys()) if (!backends.get(name)) this.#drop(name);
    for (const backend of backends.all) {
      if (this.#running.get(backend.name)?.backend === backend || isAway(backend.health)) continue;
      this.#drop(backend.name);
      this.#connect(backend);
    }
  }

  /** Changed policies may hide a subscribed resource, or show a hidden one. */
  async #assignAgain(): Promise<void> {
    const services = this.#request.services.latest();
    this.#policies = services.authorizer.id;
    const before = this.#byBackend;
    this.#byBackend = await assignTargets(this.#filter, { ...this.#request, services });
    if (this.#isOver) return;
    const textOf = (assigned: Assigned | undefined) => JSON.stringify([assigned?.uris, ...(assigned?.tasks ?? [])]);
    for (const name of this.#running.keys())
      if (textOf(before.get(name)) !== textOf(this.#byBackend.get(name))) this.#drop(name);
    this.#follow();
  }

  #drop(backend: string): void {
    this.#running.get(backend)?.call?.abort();
    this.#running.delete(backend);
  }

  #connect(backend: Backend): void {
    const { identity, message, meta } = this.#request;
    let flow: Flow | undefined;
    const ignore = () => undefined;
    const again = () => this.#again(backend);
    const body = this.#bodyFor(backend.name);
    // Set before the call is sent, as it may fail at once.
    const connection: Connection = { backend, call: undefined };
    this.#running.set(backend.name, connection);
    connection.call = backend.send({
      identity,
      era: 'modern',
      caller: meta,
      method: message.method,
      idText: message.idText,
      verb: 'POST',
      body: Buffer.from(body),
      headers: modernHeaders(message.method),
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
    });
  }

  #bodyFor(backend: string): string {
    const { message } = this.#request;
    const notifications: JsonObject = {};
    for (const kind of this.#filter.kinds) notifications[FLAGS[kind] ?? ''] = true;
    const { uris = [], tasks } = this.#byBackend.get(backend) ?? {};
    if (uris.length > 0) notifications.resourceSubscriptions = uris;
    if (tasks && tasks.size > 0) notifications.taskIds = [...tasks.keys()];
    const params = { ...message.params, notifications };
    return `{"jsonrpc":"2.0","id":${message.idText},"method":"${message.method}","params":${JSON.stringify(params)}}`;
  }

  #onEvent(backend: Backend, event: StreamEvent, flow: Flow | undefined): void {
    const { data, message } = event;
    if (message?.kind !== 'notification') return;
    const kinds = kindsOfNotification(message.method ?? '');
    if (kinds.length > 0) this.#request.services.listChangedNotifier.listChanged(backend.name, kinds);
    else if (message.method === ACKNOWLEDGED) this.#onAcknowledged(backend.name, data);
    else if (message.method === UPDATED) this.#onUpdated(backend.name, data, flow);
    else if (message.method === TASK_CHANGED) this.#onTask(backend.name, data, message, flow);
  }

  #onAcknowledged(backend: string, data: string): void {
    const own = this.#byBackend.get(backend);
    const uris = acknowledgedOf(data, 'resourceSubscriptions').filter((uri) => own?.uris.includes(uri));
    for (const uri of uris) this.#acknowledged.uris.add(uri);
    for (const id of acknowledgedOf(data, 'taskIds')) {
      const taskId = own?.tasks.get(id);
      if (taskId !== undefined) this.#acknowledged.taskIds.add(taskId);
    }
    this.#answered(backend);
    if (!this.#missed.delete(backend)) return;
    this.#request.services.listChangedNotifier.listChanged(backend, [...this.#filter.kinds]);
    for (const uri of uris) this.#send(this.#render(UPDATED, { uri }));
  }

  #onUpdated(backend: string, data: string, flow: Flow | undefined): void {
    const params = paramsOf(data);
    if (typeof params.uri === 'string' && isSubscribed(params.uri, backend, this.#byBackend))
      this.#send(this.#render(UPDATED, params), flow);
  }

  #onTask(backend: string, data: string, message: BackendMessage, flow: Flow | undefined): void {
    const task = readTask(data, taskOpen(message.spans));
    const taskId = task && this.#byBackend.get(backend)?.tasks.get(task.taskId);
    if (taskId === undefined) return;
    if (task?.hasEnded) this.#request.services.tasks.ended(taskId);
    this.#send(renderTask(data, message, taskId, this.#request.message.id), flow);
  }

  #answered(backend: string): void {
    this.#waiting.delete(backend);
    if (this.#waiting.size === 0) this.#acknowledge();
  }

  #acknowledge(): void {
    if (this.#isOpen || this.#isOver) return;
    this.#isOpen = true;
    const notifications: JsonObject = {};
    for (const kind of this.#filter.kinds) notifications[FLAGS[kind] ?? ''] = true;
    if (this.#filter.uris.length > 0) notifications.resourceSubscriptions = [...this.#acknowledged.uris];
    if (this.#filter.taskIds.length > 0) notifications.taskIds = [...this.#acknowledged.taskIds];
    this.#client.open();
    this.#client.write(this.#render(ACKNOWLEDGED, { notifications }));
    for (const text of this.#held) this.#client.write(text);
    this.#held = [];
    const keepAlive = setInterval(() => this.#client.write(': keep-alive\n\n'), KEEP_ALIVE);
    this.#timers.add(keepAlive.unref());
  }

  #announce(kinds: ReadonlySet<ListKind>): void {
    for (const kind of this.#filter.kinds) if (kinds.has(kind)) this.#send(this.#render(LIST_SPECS[kind].changed, {}));
  }

  #send(text: string, flow?: Flow): void {
    if (this.#isOpen) this.#client.write(text, flow);
    else if (this.#held.length < MAX_HELD) this.#held.push(text);
  }

  #render(method: string, params: JsonObject): string {
    return renderNotification(method, params, this.#request.message.id);
  }

  #again(backend: Backend): void {
    this.#answered(backend.name);
    if (this.#isOver || this.#running.get(backend.name)?.backend !== backend) return;
    this.#missed.add(backend.name);
    this.#after(RETRY, () => {
      // The backend may have been replaced or removed meanwhile.
      if (this.#running.get(backend.name)?.backend === backend) this.#connect(backend);
    });
  }

  #after(delay: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#isOver) act();
    }, delay).unref();
    this.#timers.add(timer);
  }

  /** The result ends a subscription. */
  #finish(): void {
    if (this.#isOver) return;
    this.#acknowledge();
    const { message, services } = this.#request;
    const result = {
      resultType: 'complete',
      _meta: {
        'io.modelcontextprotocol/serverInfo': { name: services.config.server.name, version: services.version },
        [SUBSCRIPTION_ID]: message.id,
      },
    };
    const data = `{"jsonrpc":"2.0","id":${message.idText},"result":${JSON.stringify(result)}}`;
    this.#client.write(writeSse({ event: 'message', data }));
    this.#client.end();
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unsubscribe?.();
    for (const timer of this.#timers) clearTimeout(timer);
    for (const name of [...this.#running.keys()]) this.#drop(name);
    this.#resolve();
  }
}
