import { callFailure, NotStarted } from '#runtime/mcp/backends/failures';
import { decodeBackendMessage, type BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import type { Log } from '#runtime/telemetry/log';
import { BoundIds } from './bound-ids.ts';
import type { Channel, ChannelEvents, Noise } from './channel.ts';
import type { ChannelMode } from './channel-backend.ts';
import type { ChannelExchange } from './channel-exchange.ts';
import { readCancellation, SessionTable, trackCall, type ChannelSession } from './channel-sessions.ts';
import { addNoise, isListChanged } from './observe-process.ts';
import type { Backoff } from './crash-backoff.ts';

const INTERNAL_ERROR = -32603;

interface PerSessionOptions {
  readonly name: string;
  readonly max: number;
  /** Milliseconds after which an unused session ends. */
  readonly idle: number;
  readonly giveWay?: number;
  readonly open: (exchange: ChannelExchange, events: ChannelEvents) => Channel;
  /** Applies to channels that ended by themselves before they served. Undefined: no wait. */
  readonly backoff: Backoff | undefined;
  /** Monotonic clock. */
  readonly now: () => number;
  readonly log: Log;
  readonly onListChanged: (method: string) => void;
}

/** Gives each session a channel. The client's own initialize message initializes its server. */
export class PerSessionChannels implements ChannelMode {
  readonly #options: PerSessionOptions;
  readonly #sessions: SessionTable;
  readonly #closing = new Set<Promise<void>>();
  #starts = 0;
  #failures = 0;
  #notBefore = 0;
  #reason: NotStarted | undefined;
  #isClosed = false;
  #pastNoise: Noise = { garbage: 0, stray: 0, oversized: 0 };

  constructor(options: PerSessionOptions) {
    this.#options = options;
    const { max, idle, giveWay, now } = options;
    this.#sessions = new SessionTable({
      ...{ max, idle, now },
      ...(giveWay !== undefined && { giveWay }),
      onEnd: (session) => this.#stop(session),
    });
  }

  get noise(): Noise {
    let sum = this.#pastNoise;
    for (const { channel } of this.#sessions.values()) if (channel) sum = addNoise(sum, channel.noise);
    return sum;
  }
  get starts(): number {
    return this.#starts;
  }

  readonly isSilentStart = false;

  initialize(exchange: ChannelExchange): void {
    const { name, now } = this.#options;
    // A call that began before a reload may arrive after it. Its channel would never be closed.
    if (this.#isClosed || now() < this.#notBefore) {
      exchange.fail(callFailure(name, 'unavailable', false, this.#reason));
      return;
    }
    const session = this.#sessions.hasCapacity() ? this.#open(exchange) : undefined;
    if (!session?.channel) {
      exchange.fail(callFailure(name, 'busy', false));
      return;
    }
    exchange.opens = session.id;
    const { channel } = session;
    exchange.onOver = (answer) => {
      if (answer && decodeBackendMessage(answer)?.answerKind === 'result') this.#failures = 0;
      else this.#giveUp(session, channel.isOver);
    };
    exchange.begin(channel);
  }

  request(exchange: ChannelExchange, session: ChannelSession | undefined): void {
    const { idText } = exchange.call;
    if (!session?.channel || idText === undefined) {
      exchange.fail(callFailure(this.#options.name, 'session_lost', false));
      return;
    }
    trackCall(exchange, session, idText);
    exchange.begin(session.channel);
  }

  message(exchange: ChannelExchange, session: ChannelSession): void {
    const { body } = exchange.call;
    const cancellation = readCancellation(exchange, session);
    // A cancellation names the client's id, which is another call to the server.
    cancellation?.running?.abort(true);
    if (cancellation || !body) {
      exchange.accept();
      return;
    }
    const message = session.ids?.release(body);
    if (!message || !session.channel?.send(message, exchange))
      exchange.fail(callFailure(this.#options.name, 'unavailable', false));
  }

  find(headers: readonly string[]): ChannelSession | undefined {
    return this.#sessions.find(headers);
  }

  end(session: ChannelSession): void {
    this.#sessions.end(session);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#sessions.close();
    for (const session of [...this.#sessions.values()]) this.#sessions.end(session);
    await Promise.all(this.#closing);
  }

  #open(exchange: ChannelExchange): ChannelSession | undefined {
    this.#starts++;
    const channel = this.#options.open(exchange, {
      onUnsolicited: (line, message) => session && this.#takeUnsolicited(line, message, session),
      onExit: (reason) => session && this.#exited(session, reason),
    });
    const session = this.#sessions.open(channel, new BoundIds());
    return session;
  }

  /** If a channel ended by itself before it served, the next ones wait longer and longer. */
  #giveUp(session: ChannelSession, hasFailed: boolean): void {
    this.#sessions.end(session);
    const { backoff, now, log, name } = this.#options;
    if (!hasFailed || !backoff) return;
    this.#notBefore = now() + Math.min(backoff.first * 2 ** Math.min(this.#failures, 16), backoff.last);
    this.#failures++;
    log.warn('a process of a backend did not come up', { backend: name });
  }

  #exited(session: ChannelSession, reason: string): void {
    this.#reason = new NotStarted(reason);
    if (!this.#isOpen(session)) return;
    this.#options.log.warn('what a session talked to is gone', { backend: this.#options.name, reason });
    this.#sessions.end(session);
  }

  #isOpen(session: ChannelSession): boolean {
    for (const one of this.#sessions.values()) if (one === session) return true;
    return false;
  }

  #stop({ channel }: ChannelSession): void {
    if (!channel) return;
    this.#pastNoise = addNoise(this.#pastNoise, channel.noise);
    const closing = channel.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #takeUnsolicited(line: Buffer, message: BackendMessage, session: ChannelSession): void {
    if (message.kind === 'notification' && isListChanged(message.method ?? '')) {
      this.#options.onListChanged(message.method ?? '');
      return;
    }
    const target = [...session.calls.values()].at(-1) ?? session.listener;
    if (target) target.relay(session.ids?.bind(line, message) ?? line);
    else if (message.kind === 'request') session.channel?.send(answerForClient(message));
  }
}

function answerForClient({ method, idText: id = 'null' }: BackendMessage): Buffer {
  const error = `{"code":${INTERNAL_ERROR},"message":"The client is not listening"}`;
  const outcome = method === 'ping' ? '"result":{}' : `"error":${error}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},${outcome}}`);
}
