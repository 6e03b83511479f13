import { randomUUID } from 'node:crypto';
import { decodeRequest } from '#runtime/mcp/envelope/decode-request';
import { idTextOf } from '#runtime/mcp/envelope/message-id';
import type { BoundIds } from './bound-ids.ts';
import type { Channel } from './channel.ts';
import type { ChannelExchange } from './channel-exchange.ts';

export interface ChannelSession {
  readonly id: string;
  /** Undefined if one process serves all sessions. */
  readonly channel: Channel | undefined;
  /** Ids of the server's requests on its own channel. */
  readonly ids: BoundIds | undefined;
  listener: ChannelExchange | undefined;
  /** By the client's id, newest last. */
  readonly calls: Map<string, ChannelExchange>;
  readonly subscriptions: Set<string>;
  lastUsed: number;
}

interface SessionTableSettings {
  readonly max: number;
  /** Milliseconds after which a session without a stream or a call ends. */
  readonly idle: number;
  /** Idle milliseconds after which a full table may end a session, even with an open stream. Absent: never. */
  readonly giveWay?: number;
  readonly now: () => number;
  readonly onEnd: (session: ChannelSession) => void;
}

const SWEEP_EVERY = 5_000;

/** Their random ids are valid for one backend only. */
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

  /** Undefined if the table is full. */
  open(channel?: Channel, ids?: BoundIds): ChannelSession | undefined {
    if (!this.hasCapacity()) return undefined;
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

  hasCapacity(): boolean {
    if (this.#sessions.size < this.#settings.max) return true;
    this.#endIdle();
    if (this.#sessions.size >= this.#settings.max) this.#endLongestIdle();
    return this.#sessions.size < this.#settings.max;
  }

  /** `headers`: a flat list of names and values. */
  find(headers: readonly string[]): ChannelSession | undefined {
    const session = this.#sessions.get(sessionIdIn(headers) ?? '');
    if (session) session.lastUsed = this.#settings.now();
    return session;
  }

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

function sessionIdIn(headers: readonly string[]): string | undefined {
  for (let at = 0; at + 1 < headers.length; at += 2) if (headers[at] === 'mcp-session-id') return headers[at + 1];
  return undefined;
}

export function trackCall(exchange: ChannelExchange, session: ChannelSession, idText: string): void {
  session.calls.set(idText, exchange);
  exchange.onOver = () => {
    if (session.calls.get(idText) === exchange) session.calls.delete(idText);
  };
}

/** Returns the call that the message cancels; undefined if it is no cancellation. */
export function readCancellation(
  { call }: ChannelExchange,
  session: ChannelSession,
): { running: ChannelExchange | undefined } | undefined {
  const message = call.body && decodeRequest(call.body);
  if (message?.kind !== 'notification' || message.method !== 'notifications/cancelled') return undefined;
  const id = message.params?.requestId;
  return { running: session.calls.get(idTextOf(id, String(id)) ?? '') };
}
