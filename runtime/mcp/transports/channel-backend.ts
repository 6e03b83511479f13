import type { Backend as BackendConfig } from '#crds/run-config/backend';
import type { Backend, BackendCall, RunningCall } from '#runtime/mcp/backends/backend';
import type { BackendParts } from '#runtime/mcp/backends/backend-parts';
import { ConfiguredBackend } from '#runtime/mcp/backends/configured-backend';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import type { Noise } from './channel.ts';
import { ChannelExchange, type ExchangeHost } from './channel-exchange.ts';
import type { ChannelSession } from './channel-sessions.ts';

/** How messages of clients meet channels. Two ways: one process for all, or a channel for each session. */
export interface ChannelMode {
  /** What came on its channels that was no answer. */
  readonly noise: Noise;
  /** How often a channel was opened. */
  readonly starts: number;
  /** What calls wait for was started, and nothing has been heard of it yet. */
  readonly isSilentStart: boolean;
  /** As `Backend.warnings` says it. */
  readonly warnings?: readonly string[];
  /** As `Backend.onProcess` says it. */
  onProcess?(listener: (end: string | undefined) => void): void;
  initialize(exchange: ChannelExchange): void;
  /** A request. `session` is undefined where the message names none. */
  request(exchange: ChannelExchange, session: ChannelSession | undefined): void;
  /** A notification of a session, or its answer to a request of the server. */
  message(exchange: ChannelExchange, session: ChannelSession): void;
  find(headers: readonly string[]): ChannelSession | undefined;
  end(session: ChannelSession): void;
  close(): Promise<void>;
}

/** A backend that is reached by channels. It has sessions as one over streamable HTTP has, whatever its server knows of them. */
export class ChannelBackend<Config extends BackendConfig>
  extends ConfiguredBackend<Config>
  implements Backend, ExchangeHost
{
  readonly #mode: ChannelMode;
  /** What its channels are carried by, where that is none of their own. */
  readonly #carrier: Pick<Backend, 'pickAddress' | 'close'> | undefined;
  readonly #limit: number;
  readonly #counted = new Set<ChannelExchange>();

  constructor(
    options: BackendParts & { readonly config: Config },
    mode: ChannelMode,
    carrier?: Pick<Backend, 'pickAddress' | 'close'>,
  ) {
    super(options);
    const { perBackend, queue } = options.concurrency;
    this.#limit = perBackend + queue;
    this.#mode = mode;
    this.#carrier = carrier;
  }

  /** Calls under way. */
  get running(): number {
    return this.#counted.size;
  }
  oldestCall(): number {
    return this.deadlines.oldest((entry) => entry instanceof ChannelExchange && this.#counted.has(entry));
  }
  get noise(): Noise {
    return this.#mode.noise;
  }
  get starts(): number {
    return this.#mode.starts;
  }

  get isSilentStart(): boolean {
    return this.#mode.isSilentStart;
  }

  get warnings(): readonly string[] {
    return this.#mode.warnings ?? [];
  }

  pickAddress(): Promise<string | undefined> | undefined {
    return this.#carrier?.pickAddress?.();
  }

  onProcess(listener: (end: string | undefined) => void): void {
    this.#mode.onProcess?.(listener);
  }

  send(call: BackendCall): RunningCall {
    const exchange = new ChannelExchange(this, call);
    if (call.verb === 'POST') this.#post(exchange);
    else this.#ofSession(exchange);
    return exchange;
  }

  settled(exchange: ChannelExchange, failure: CallFailure | undefined): void {
    if (this.#counted.delete(exchange)) this.breaker.record(failure);
  }

  async close(): Promise<void> {
    await this.#mode.close();
    // It is made of the same parts.
    await (this.#carrier?.close() ?? this.closeParts());
    for (const exchange of this.#counted) exchange.fail(callFailure(this.name, 'unavailable', true));
  }

  #post(exchange: ChannelExchange): void {
    const { call } = exchange;
    // A server of this revision has no discovery; clients and probes go on with initialize.
    if (call.method === 'server/discover') {
      exchange.replyUnknownMethod();
      return;
    }
    // Revision 2026-07-28 is served where a bridge stands between it and the server.
    if (call.era !== 'session') {
      exchange.fail(callFailure(this.name, 'protocol', false));
      return;
    }
    if (!call.isOneWay && !this.#admit(exchange)) return;
    if (call.method === 'initialize') {
      this.#mode.initialize(exchange);
      return;
    }
    const session = this.#mode.find(call.headers);
    const isLost = !session && call.headers.includes('mcp-session-id');
    if (isLost) {
      exchange.fail(callFailure(this.name, 'session_lost', false));
      return;
    }
    if (call.idText !== undefined) this.#mode.request(exchange, session);
    else if (session) this.#mode.message(exchange, session);
    else exchange.accept();
  }

  /** Takes a place for a call, or fails it. A probe needs none. */
  #admit(exchange: ChannelExchange): boolean {
    if (exchange.call.isProbe) return true;
    if (this.#counted.size >= this.#limit) {
      exchange.fail(callFailure(this.name, 'busy', false));
      return false;
    }
    if (!this.breaker.admits()) {
      exchange.fail(callFailure(this.name, 'breaker_open', false));
      return false;
    }
    this.#counted.add(exchange);
    return true;
  }

  /** GET and DELETE. */
  #ofSession(exchange: ChannelExchange): void {
    const session = this.#mode.find(exchange.call.headers);
    if (!session) {
      exchange.fail(callFailure(this.name, 'session_lost', false));
      return;
    }
    if (exchange.call.verb === 'DELETE') {
      this.#mode.end(session);
      exchange.accept();
      return;
    }
    session.listener?.end();
    session.listener = exchange;
    exchange.onOver = () => {
      if (session.listener === exchange) session.listener = undefined;
    };
    exchange.listen();
  }
}
