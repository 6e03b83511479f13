import { randomUUID } from 'node:crypto';
import { decodeRequest } from '#runtime/mcp/envelope/decode-request';
import { idTextOf } from '#runtime/mcp/envelope/message-id';
import type { BoundIds } from './bound-ids.ts';
import type { Channel } from './channel.ts';
import type { ChannelExchange } from './channel-exchange.ts';

/** What one client session has at a backend that is reached by channels. */
export interface ChannelSession {
  readonly id: string;
  /** Its own; undefined where one process serves all. */
  readonly channel: Channel | undefined;
  /** Of the requests of its own channel. */
  readonly ids: BoundIds | undefined;
  /** The stream that the client holds open for what belongs to no call. */
  listener: ChannelExchange | undefined;
  /** Calls under way, by the client's id; the newest is the last. */
  readonly calls: Map<string, ChannelExchange>;
  /** Resources whose changes it wants to know. */
  readonly subscriptions: Set<string>;
  lastUsed: number;
}

interface SessionTableSettings {
  readonly max: number;
  /** Milliseconds after which a session without a stream or a call is ended, if nobody ended it. */
  readonly idle: number;
  /**
   * Milliseconds of idleness after which a session is ended for a newcomer where there are too many; absent: none is. Where it is
   * there, a stream keeps no session.
   */
  readonly giveWay?: number;
  readonly now: () => number;
  readonly onEnd: (session: ChannelSession) => void;
}

const SWEEP_EVERY = 5_000;

/** The sessions of one backend. Ids are random and mean nothing to anybody else. */
export class SessionTable {
  readonly #settings: SessionTableSettings;
  readonly #sessions = new Map<string, ChannelSession>();
  readonly #timer: NodeJS.Timeout;

  constructor(settings: SessionTableSettings) {
    this.#settings = settings;
    this.#timer = setInterval(() => this.#endIdle(), Math.min(settings.idle, SWEEP_EVERY)).unref();
  }

  values(): Iterable<ChannelSession> {
    return this.#sessions.values();
  }

  /** Undefined: there are too many. */
  open(channel?: Channel, ids?: BoundIds): ChannelSession | undefined {
    if (!this.hasRoom()) return undefined;
    const session: ChannelSession = {
      id: randomUUID(),
      channel,
      ids,
      listener: undefined,
      calls: new Map(),
      subscriptions: new Set(),
      lastUsed: this.#settings.now(),
    };
    this.#sessions.set(session.id, session);
    return session;
  }

  hasRoom(): boolean {
    if (this.#sessions.size < this.#settings.max) return true;
    this.#endIdle();
    if (this.#sessions.size >= this.#settings.max) this.#endLongestIdle();
    return this.#sessions.size < this.#settings.max;
  }

  /** The session that these headers name, a flat list of names and values. */
  find(headers: readonly string[]): ChannelSession | undefined {
    const session = this.#sessions.get(sessionIdIn(headers) ?? '');
    if (session) session.lastUsed = this.#settings.now();
    return session;
  }

  /** Ends no idle sessions any longer; those that are there stay. */
  close(): void {
    clearInterval(this.#timer);
  }

  end(session: ChannelSession): void {
    if (!this.#sessions.delete(session.id)) return;
    session.listener?.end();
    this.#settings.onEnd(session);
  }

  #endIdle(): void {
    for (const session of this.#idleFor(this.#settings.idle)) this.end(session);
  }

  #endLongestIdle(): void {
    const { giveWay } = this.#settings;
    if (giveWay === undefined) return;
    const [longest] = this.#idleFor(giveWay).sort((a, b) => a.lastUsed - b.lastUsed);
    if (longest) this.end(longest);
  }

  #idleFor(milliseconds: number): ChannelSession[] {
    const { now, giveWay } = this.#settings;
    const all = [...this.#sessions.values()];
    for (const session of all) if (session.calls.size > 0) session.lastUsed = now();
    const isKept = ({ listener }: ChannelSession) => listener !== undefined && giveWay === undefined;
    return all.filter((session) => session.lastUsed < now() - milliseconds && !isKept(session));
  }
}

/** The value of `mcp-session-id`; undefined without one. */
function sessionIdIn(headers: readonly string[]): string | undefined {
  for (let at = 0; at + 1 < headers.length; at += 2) if (headers[at] === 'mcp-session-id') return headers[at + 1];
  return undefined;
}

/** Lets the session find the call by its id for as long as it is under way. */
export function trackCall(exchange: ChannelExchange, session: ChannelSession, idText: string): void {
  session.calls.set(idText, exchange);
  exchange.onOver = () => {
    if (session.calls.get(idText) === exchange) session.calls.delete(idText);
  };
}

/** Which call this message cancels, if it is one of this session; undefined where the message is no cancellation. */
export function readCancellation(
  { call }: ChannelExchange,
  session: ChannelSession,
): { running: ChannelExchange | undefined } | undefined {
  const message = call.body && decodeRequest(call.body);
  if (message?.kind !== 'notification' || message.method !== 'notifications/cancelled') return undefined;
  const id = message.params?.requestId;
  return { running: session.calls.get(idTextOf(id, String(id)) ?? '') };
}
