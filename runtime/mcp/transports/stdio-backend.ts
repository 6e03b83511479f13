import type { StdioBackend as StdioConfig } from '#crds/run-config/backend';
import type { Backend, BackendCall, CallFailure, RunningCall } from '#runtime/mcp/backends/backend';
import type { BackendParts } from '#runtime/mcp/backends/backend-parts';
import type { Breaker } from '#runtime/mcp/backends/breaker';
import type { Deadlines } from '#runtime/mcp/backends/deadlines';
import { callFailure } from '#runtime/mcp/backends/failures';
import type { BackendHealth } from '#runtime/mcp/backends/health';
import type { Credential } from '#runtime/outgoing/credential';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { Log } from '#runtime/telemetry/log';
import { PerSessionProcesses } from './per-session-processes.ts';
import { ProcessForAll } from './process-for-all.ts';
import type { Backoff } from './shared-process.ts';
import type { Noise } from './stdio-connection.ts';
import { StdioExchange, type ExchangeHost } from './stdio-exchange.ts';
import type { StdioSession } from './stdio-sessions.ts';

export interface StdioBackendOptions extends BackendParts {
  readonly config: StdioConfig;
  /** The whole environment of the process, values of files included. */
  readonly env: Readonly<Record<string, string>>;
  /** Values that must not reach a log. */
  readonly secrets: readonly string[];
  readonly sessions: {
    readonly max: number;
    /** Processes at once under `stdio_process: perSession`. */
    readonly maxProcesses: number;
    /** Milliseconds. */
    readonly idle: number;
  };
  /** JSON text of the gateway's own initialize params. */
  readonly initializeParams: string;
  /** Milliseconds for a start, initialize included. */
  readonly startDeadline: number;
  readonly backoff: Backoff;
  readonly log: Log;
  /** A list of the backend has changed; the method is the notification's. */
  readonly onListChanged: (method: string) => void;
}

/** How messages of clients meet processes. Two ways: one process for all, or one for each session. */
export interface ProcessMode {
  /** What its processes wrote that was no answer. */
  readonly noise: Noise;
  /** How often a process was started. */
  readonly starts: number;
  /** What calls wait for is a process that has been started, and that nothing has been heard of yet. */
  readonly isSilentStart: boolean;
  initialize(exchange: StdioExchange): void;
  /** A request. `session` is undefined where the message names none. */
  request(exchange: StdioExchange, session: StdioSession | undefined): void;
  /** A notification of a session, or its answer to a request of its process. */
  message(exchange: StdioExchange, session: StdioSession): void;
  find(headers: readonly string[]): StdioSession | undefined;
  end(session: StdioSession): void;
  close(): Promise<void>;
}

/** What programs need to be found, to start, and to reach the network where it is guarded; nothing else, as it may be secret. */
const INHERITED = [
  'PATH HOME LANG LC_ALL TZ TMPDIR TERM USER LOGNAME SHELL SystemRoot',
  'HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE',
].flatMap((line) => line.split(' '));

/** What a process gets of the gateway's own environment. */
export function inheritedBy(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    INHERITED.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
}

export const defaultBackoff: Backoff = { first: 500, last: 30_000, healthy: 60_000 };

/** A backend that is a process of this machine. It has sessions as one over HTTP has, whatever the process knows of them. */
export function createStdioBackend(options: StdioBackendOptions): StdioBackend {
  return new StdioBackend(options);
}

export class StdioBackend implements Backend, ExchangeHost {
  readonly name: string;
  readonly config: StdioConfig;
  readonly credential: Credential;
  readonly authorizer: Authorizer | undefined;
  readonly webhooks: WebhookGate | undefined;
  readonly health: BackendHealth;
  readonly sessions = true;
  readonly deadlines: Deadlines;
  readonly #mode: ProcessMode;
  readonly #breaker: Breaker;
  readonly #limit: number;
  readonly #counted = new Set<StdioExchange>();

  constructor(options: StdioBackendOptions) {
    const { config, concurrency } = options;
    this.name = config.name;
    this.config = config;
    this.credential = options.credential;
    this.authorizer = options.authorizer;
    this.webhooks = options.webhooks;
    this.health = options.health;
    this.deadlines = options.deadlines;
    this.#breaker = options.breaker;
    this.#limit = concurrency.perBackend + concurrency.queue;
    this.#mode = config.stdio_process === 'shared' ? new ProcessForAll(options) : new PerSessionProcesses(options);
  }

  /** Calls under way. */
  get running(): number {
    return this.#counted.size;
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

  send(call: BackendCall): RunningCall {
    const exchange = new StdioExchange(this, call);
    if (call.verb === 'POST') this.#post(exchange);
    else this.#ofSession(exchange);
    return exchange;
  }

  settled(exchange: StdioExchange, failure: CallFailure | undefined): void {
    if (this.#counted.delete(exchange) && !exchange.call.isProbe) this.#breaker.record(failure);
  }

  async close(): Promise<void> {
    this.credential.close();
    await Promise.all([this.webhooks?.close(), this.#mode.close()]);
    for (const exchange of this.#counted) exchange.fail(callFailure(this.name, 'unavailable', true));
  }

  #post(exchange: StdioExchange): void {
    const { call } = exchange;
    // A process of this revision has no discovery; clients and probes go on with initialize.
    if (call.method === 'server/discover') {
      exchange.replyUnknownMethod();
      return;
    }
    // Revision 2026-07-28 is served where a bridge stands between it and the process.
    if (call.era !== 'session') {
      exchange.fail(callFailure(this.name, 'protocol', false));
      return;
    }
    if (this.#counted.size >= this.#limit) {
      exchange.fail(callFailure(this.name, 'busy', false));
      return;
    }
    if (!call.isProbe && !this.#breaker.admits()) {
      exchange.fail(callFailure(this.name, 'unavailable', false));
      return;
    }
    this.#counted.add(exchange);
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

  /** GET and DELETE. */
  #ofSession(exchange: StdioExchange): void {
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
