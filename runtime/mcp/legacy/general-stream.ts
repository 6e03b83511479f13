import { randomUUID } from 'node:crypto';
import { mayBeAway, type CallFailure } from '../backends/failures.ts';
import { LoginNeeded } from '#runtime/authserver/user-tokens';
import type { Identity } from '#runtime/incoming/identity';
import type { ClientStream } from '#runtime/mcp/relay/client-stream';
import { PROGRESS } from '#runtime/mcp/envelope/progress-token';
import { GENERAL } from '#runtime/mcp/sse/event-id';
import { writeSse } from '#runtime/mcp/sse/write-sse';
import type { Services } from '#runtime/services';
import { LIST_SPECS, type ListKind } from '../aggregate/list-kinds.ts';
import type { AnswerSink, Backend, Flow, RunningCall, StreamEvent } from '../backends/backend.ts';
import { dropBackendSession, backendSessionHeaders, openSoon } from '../sessions/open-backend-session.ts';
import { loginField } from '../sessions/session-record.ts';
import type { BackendSession, Session, SessionStream } from '../sessions/session.ts';
import { relayedEvent, type EventSource } from './relayed-event.ts';

const FIRST_RETRY = 1_000;
const LEAST_RETRY = 500;
const LAST_RETRY = 30_000;
const KEEP_ALIVE = 25_000;
/** Milliseconds for which progress waits for its token, and reports of a session. */
const HELD = 500;
const MAX_HELD = 100;

interface Upstream {
  readonly backendSession: BackendSession;
  running: RunningCall | undefined;
  timer: NodeJS.Timeout | undefined;
  lastId: string | undefined;
  retry: number;
  failures: number;
}

/** The client's GET. Merges the streams of all backend sessions and the gateway's own announcements. */
export class GeneralStream implements SessionStream {
  readonly id = randomUUID();
  isTold = false;
  readonly #session: Session;
  readonly #identity: Identity;
  readonly #latest: () => Services;
  readonly #client: ClientStream;
  readonly #upstreams = new Map<string, Upstream>();
  readonly #reopened = new Set<string>();
  readonly #keepAlive: NodeJS.Timeout;

  constructor(session: Session, identity: Identity, services: Services, client: ClientStream) {
    this.#session = session;
    this.#identity = identity;
    this.#latest = services.latest;
    this.#client = client;
    this.#keepAlive = setInterval(() => this.#client.write(': keep-alive\n\n'), KEEP_ALIVE).unref();
  }

  /** Also opens missing backend sessions. `lastIds`: the last events that the client received. */
  open(lastIds: ReadonlyMap<string, string>): void {
    this.#client.open();
    for (const backendSession of this.#session.backendSessions)
      this.join(backendSession, lastIds.get(backendSession.backend));
    this.#reach();
    if (this.#session.changed) this.announce(this.#session.changed);
    this.#session.changed = undefined;
    this.#endElicitations();
  }

  join(backendSession: BackendSession, lastId?: string): void {
    const backend = this.#latest().backends.get(backendSession.backend);
    if (
      !backend?.sessions ||
      backendSession.sessionId === undefined ||
      this.#upstreams.get(backendSession.backend)?.backendSession === backendSession
    )
      return;
    this.leave([backendSession.backend]);
    const upstream: Upstream = {
      backendSession,
      running: undefined,
      timer: undefined,
      lastId,
      retry: FIRST_RETRY,
      failures: 0,
    };
    this.#upstreams.set(backendSession.backend, upstream);
    this.#connect(upstream, backend);
  }

  leave(backends: readonly string[]): void {
    for (const name of backends) {
      const upstream = this.#upstreams.get(name);
      this.#upstreams.delete(name);
      if (upstream) end(upstream);
    }
  }

  refresh(): void {
    for (const { running } of this.#upstreams.values()) running?.refresh?.();
  }

  announce(kinds: ReadonlySet<ListKind>): void {
    const methods = new Set([...kinds].map((kind) => LIST_SPECS[kind].changed));
    for (const method of methods) {
      this.#client.write(writeSse({ event: 'message', data: JSON.stringify({ jsonrpc: '2.0', method }) }));
    }
    this.#reach();
    // This backend session may exist thanks to a login that the client was asked to open.
    this.#endElicitations();
  }

  lastIds(): Map<string, string> {
    const ids = new Map<string, string>();
    for (const [backend, { lastId }] of this.#upstreams) if (lastId !== undefined) ids.set(backend, lastId);
    return ids;
  }

  close(): void {
    clearInterval(this.#keepAlive);
    this.leave([...this.#upstreams.keys()]);
    this.#session.earlyReports?.clear();
    this.#client.end();
    if (this.#session.stream === this) this.#session.stream = undefined;
  }

  /** Backends send their own messages only in a session. Includes those that were added, came back, or waited for a login. */
  #reach(): void {
    const services = this.#latest();
    for (const backend of services.backends.all) {
      const backendSession = openSoon(this.#session, backend, this.#identity, services);
      if (backendSession) this.join(backendSession);
    }
  }

  #endElicitations(): void {
    const asked = this.#session.elicitations;
    for (const [elicitationId, provider] of asked ?? []) {
      const isOf = ({ credential }: Backend) => credential.login?.provider === provider;
      const login = this.#latest().backends.all.find(isOf)?.credential.login;
      const tell = (isReady: boolean) => {
        if (!isReady || !asked?.delete(elicitationId)) return;
        void this.#latest().sessions.remember(this.#session, loginField(elicitationId, undefined));
        const message = { jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId } };
        this.#client.write(writeSse({ event: 'message', data: JSON.stringify(message) }));
      };
      login?.isReady(this.#identity).then(tell, () => undefined);
    }
  }

  #connect(upstream: Upstream, backend: Backend): void {
    const resume = upstream.lastId === undefined ? [] : ['last-event-id', upstream.lastId];
    upstream.running = backend.send({
      identity: this.#identity,
      era: 'legacy',
      session: this.#session,
      method: 'GET',
      idText: undefined,
      verb: 'GET',
      body: undefined,
      headers: backendSessionHeaders(upstream.backendSession).concat(resume),
      address: upstream.backendSession.address,
      deadline: 0,
      idempotent: false,
      sink: this.#sink(upstream, backend),
    });
  }

  #sink(upstream: Upstream, backend: Backend): AnswerSink {
    const ignore = () => undefined;
    let flow: Flow | undefined;
    return {
      json: ignore,
      accepted: ignore,
      open: (opened) => {
        flow = opened;
        upstream.failures = 0;
        this.#reopened.delete(backend.name);
      },
      event: (event: StreamEvent) => {
        upstream.lastId = event.id ?? upstream.lastId;
        upstream.retry = Math.max(event.retry ?? upstream.retry, LEAST_RETRY);
        const source = {
          backend,
          stream: GENERAL,
          call: undefined,
          session: this.#session,
          identity: this.#identity,
          services: this.#latest(),
        };
        const text = relayedEvent(event, source);
        if (text !== undefined) this.#client.write(text, flow);
        else if (event.message?.method === PROGRESS && source.services.sessions.isShared)
          this.#hold(event, source, flow);
      },
      close: () => this.#again(upstream, backend),
      fail: (failure: CallFailure) => {
        // A status such as 405 is normal: the backend has no stream of its own.
        if (failure.reason === 'session_lost') this.#reopen(upstream, backend);
        if (mayBeAway(failure) || failure.reason === 'timeout') this.#again(upstream, backend);
        // The backend joins again when its user has logged in.
        if (failure.error instanceof LoginNeeded) this.leave([backend.name]);
      },
    };
  }

  /** Another replica sent the call, and its token has not arrived from there. */
  #hold(event: StreamEvent, source: EventSource, flow: Flow | undefined): void {
    const held = (this.#session.earlyReports ??= new Set());
    if (held.size >= MAX_HELD) return;
    const look = () => {
      const text = relayedEvent(event, source);
      if (text === undefined || !held.delete(look)) return;
      this.#client.write(text, flow);
    };
    held.add(look);
    setTimeout(() => held.delete(look), HELD).unref();
  }

  /** Reopens once only after a restart: some backends answer 404 if they have no streams. */
  #reopen(upstream: Upstream, backend: Backend): void {
    if (this.#upstreams.get(backend.name) !== upstream || this.#reopened.has(backend.name)) return;
    this.#reopened.add(backend.name);
    dropBackendSession(this.#session, upstream.backendSession);
    openSoon(this.#session, backend, this.#identity, this.#latest());
  }

  #again(upstream: Upstream, backend: Backend): void {
    if (this.#upstreams.get(backend.name) !== upstream) return;
    const delay = Math.min(upstream.retry * 2 ** Math.min(upstream.failures, 5), LAST_RETRY);
    upstream.failures++;
    upstream.timer = setTimeout(() => this.#connect(upstream, backend), delay).unref();
  }
}

function end({ timer, running }: Upstream): void {
  clearTimeout(timer);
  running?.abort();
}
