import type { Backend as BackendConfig } from '#crds/run-config/backend';
import type { Backend, BackendCall, RunningCall } from '#runtime/mcp/backends/backend';
import type { BackendParts } from '#runtime/mcp/backends/backend-parts';
import { ConfiguredBackend } from '#runtime/mcp/backends/configured-backend';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import type { Noise } from './channel.ts';
import { ChannelExchange, type ExchangeHost } from './channel-exchange.ts';
import type { ChannelSession } from './channel-sessions.ts';
import type { ModernProcesses } from './modern-processes.ts';
import { addNoise } from './observe-process.ts';

export interface ChannelMode {
  readonly noise: Noise;
  readonly starts: number;
  readonly isSilentStart: boolean;
  readonly warnings?: readonly string[];
  onProcess?(listener: (end: string | undefined) => void): void;
  initialize(exchange: ChannelExchange): void;
  /** `session` is undefined if the message names none. */
  request(exchange: ChannelExchange, session: ChannelSession | undefined): void;
  /** A notification of a session, or its answer to a request of the server. */
  message(exchange: ChannelExchange, session: ChannelSession): void;
  find(headers: readonly string[]): ChannelSession | undefined;
  end(session: ChannelSession): void;
  close(): Promise<void>;
}

/** Its sessions behave as over streamable HTTP, even if its server has none. */
export class ChannelBackend<Config extends BackendConfig>
  extends ConfiguredBackend<Config>
  implements Backend, ExchangeHost
{
  readonly #mode: ChannelMode;
  /** Transports the messages of channels that do not do so themselves. */
  readonly #carrier: Pick<Backend, 'pickAddress' | 'close'> | undefined;
  /** Serves calls of 2026-07-28. Absent: no server of this transport speaks that revision. */
  readonly #modern: ModernProcesses | undefined;
  readonly #limit: number;
  readonly #counted = new Set<ChannelExchange>();

  constructor(
    options: BackendParts & { readonly config: Config },
    mode: ChannelMode,
    { carrier, modern }: { carrier?: Pick<Backend, 'pickAddress' | 'close'>; modern?: ModernProcesses },
  ) {
    super(options);
    const { perBackend, queue } = options.concurrency;
    this.#limit = perBackend + queue;
    this.#mode = mode;
    this.#carrier = carrier;
    this.#modern = modern;
  }

  get running(): number {
    return this.#counted.size;
  }
  oldestCall(): number {
    return this.deadlines.oldest((entry) => entry instanceof ChannelExchange && this.#counted.has(entry));
  }
  get noise(): Noise {
    return this.#modern ? addNoise(this.#mode.noise, this.#modern.noise) : this.#mode.noise;
  }
  get starts(): number {
    return this.#mode.starts + (this.#modern?.starts ?? 0);
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
    const exchange = new ChannelExchange(this, this.translate(call));
    if (call.verb === 'POST') this.#post(exchange);
    else this.#ofSession(exchange);
    return exchange;
  }

  settled(exchange: ChannelExchange, failure: CallFailure | undefined): void {
    if (this.#counted.delete(exchange)) this.breaker.record(failure);
  }

  async close(): Promise<void> {
    await Promise.all([this.#mode.close(), this.#modern?.close()]);
    // The carrier is built from the same parts, so only one of the two is closed.
    await (this.#carrier?.close() ?? this.closeParts());
    for (const exchange of this.#counted) exchange.fail(callFailure(this.name, 'unavailable', true));
  }

  #post(exchange: ChannelExchange): void {
    const { call } = exchange;
    if (call.era === 'modern') {
      this.#postModern(exchange);
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

  #postModern(exchange: ChannelExchange): void {
    const { call } = exchange;
    const isDiscovery = call.method === 'server/discover';
    // A server that does not speak the revision must not get its messages. A bridge in front of this backend translates them.
    if (this.#modern && (isDiscovery || this.health.eras?.has('modern') === true)) {
      if (call.idText === undefined) exchange.accept();
      // Streams that only listen take no place of a call.
      else if (call.method === 'subscriptions/listen' || this.#admit(exchange)) this.#modern.request(exchange);
    } else if (isDiscovery) exchange.replyUnknownMethod();
    else exchange.fail(callFailure(this.name, 'protocol', false));
  }

  /** Probes are always admitted. */
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

  /** Handles GET and DELETE. */
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
