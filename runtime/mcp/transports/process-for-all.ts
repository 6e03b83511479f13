import { callFailure, Restarting } from '#runtime/mcp/backends/failures';
import type { BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { decodeRequest } from '#runtime/mcp/envelope/decode-request';
import { LIST_KINDS, LIST_SPECS } from '#runtime/mcp/aggregate/list-kinds';
import { isListChanged, logStderr, stringAt } from './observe-process.ts';
import { SharedProcess } from './shared-process.ts';
import type { ChannelMode } from './channel-backend.ts';
import type { StdioBackendOptions } from './stdio-backend-options.ts';
import type { StdioConnection } from './stdio-connection.ts';
import type { Noise } from './channel.ts';
import type { ChannelExchange } from './channel-exchange.ts';
import { SuppressedFeatures } from './suppressed-features.ts';
import { readCancellation, SessionTable, trackCall, type ChannelSession } from './channel-sessions.ts';

const MAX_SUBSCRIPTIONS = 1_000;
/** Consecutive unanswered pings before a restart. */
const MAX_SILENCES = 3;
const METHOD_NOT_FOUND = -32601;

interface Then {
  readonly onAnswer?: () => void;
  readonly onEnd?: () => void;
  readonly onLate?: () => void;
}

/** `stdio_process: shared`: the process has one client, the gateway. This class keeps the sessions. */
export class ProcessForAll implements ChannelMode {
  readonly #options: StdioBackendOptions;
  readonly #process: SharedProcess;
  readonly #sessions: SessionTable;
  readonly #suppressed: SuppressedFeatures;
  #connection: StdioConnection | undefined;
  #silences = 0;
  #silentSince = 0;
  #tell: (end: string | undefined) => void = () => undefined;

  constructor(options: StdioBackendOptions) {
    this.#options = options;
    this.#suppressed = new SuppressedFeatures(options.config.name);
    const { config, env, log } = options;
    const stderr = logStderr(config.name, options.secrets, log);
    this.#sessions = new SessionTable({
      max: options.sessions.max,
      idle: options.sessions.idle,
      now: options.now,
      onEnd: (session) => this.#forgetSubscriptions(session),
    });
    this.#process = new SharedProcess({
      backend: config.name,
      initializeParams: options.initializeParams,
      startDeadline: options.startDeadline,
      backoff: options.backoff,
      now: options.now,
      log,
      lastWords: stderr.lastWords,
      connection: {
        name: config.name,
        command: config.command,
        args: config.args,
        env,
        cwd: config.working_directory,
        maxLineBytes: options.maxResponseBytes,
        onStderr: stderr.take,
        bufferedBytes: options.bufferedBytes,
        onUnsolicited: (line, message) => this.#takeUnsolicited(line, message),
      },
      onReady: (connection, again) => this.#ready(connection, again),
      onGone: (reason) => this.#tell(reason),
    });
  }

  get noise(): Noise {
    return this.#connection?.noise ?? { garbage: 0, stray: 0, oversized: 0 };
  }
  get starts(): number {
    return this.#process.starts;
  }

  get isSilentStart(): boolean {
    return this.#process.isSilentStart;
  }

  onProcess(listener: (end: string | undefined) => void): void {
    this.#tell = listener;
  }

  get warnings(): readonly string[] {
    return this.#suppressed.warnings(this.#process.hasLogs);
  }

  initialize(exchange: ChannelExchange): void {
    this.#suppressed.note(exchange.call.body);
    this.#whenReady(exchange, (connection) => {
      // The process must show that it is alive: health checks use this method too.
      const fail = (reason: 'ended' | 'timeout'): void =>
        exchange.fail(callFailure(this.#options.config.name, reason, false));
      const sentAt = this.#options.now();
      this.#ask(
        connection,
        'ping',
        {},
        {
          onAnswer: () => {
            this.#silences = 0;
            this.#openSession(exchange);
          },
          onEnd: () => fail('ended'),
          onLate: () => {
            if (connection.isHeld) {
              this.#openSession(exchange);
              return;
            }
            this.#noteSilence(connection, sentAt);
            fail('timeout');
          },
        },
      );
    });
  }

  request(exchange: ChannelExchange, session: ChannelSession | undefined): void {
    const { method, idText } = exchange.call;
    if (session && idText !== undefined) trackCall(exchange, session, idText);
    // One client's level would apply to all clients.
    if (method === 'logging/setLevel') {
      exchange.replyResult('{}');
      return;
    }
    this.#whenReady(exchange, (connection) => {
      if (session && method === 'resources/subscribe') this.#subscribe(exchange, session, connection);
      else if (session && method === 'resources/unsubscribe') this.#unsubscribe(exchange, session, connection);
      else exchange.begin(connection);
    });
  }

  message(exchange: ChannelExchange, session: ChannelSession): void {
    // The process sees the gateway as its client.
    readCancellation(exchange, session)?.running?.abort(true);
    exchange.accept();
  }

  find(headers: readonly string[]): ChannelSession | undefined {
    return this.#sessions.find(headers);
  }

  end(session: ChannelSession): void {
    this.#sessions.end(session);
  }

  async close(): Promise<void> {
    this.#sessions.close();
    for (const session of this.#sessions.values()) session.listener?.end();
    await this.#process.close();
  }

  /** Concurrent pings count as one. */
  #noteSilence(connection: StdioConnection, sentAt: number): void {
    if (connection !== this.#connection || connection.isOver || sentAt < this.#silentSince) return;
    this.#silentSince = this.#options.now();
    this.#silences++;
    if (this.#silences < MAX_SILENCES) return;
    this.#silences = 0;
    this.#options.log.warn('a process of a backend no longer answers', { backend: this.#options.config.name });
    this.#process.restart(connection);
  }

  /** The gateway's own request: its answer is at most a sign of life. Dropped after its deadline. */
  #ask(connection: StdioConnection, method: string, params: object, then: Then = {}): void {
    const late = (): void => {
      if (id !== undefined) connection.forget(id);
      then.onLate?.();
    };
    const timer = setTimeout(late, this.#options.startDeadline).unref();
    const over = (act: (() => void) | undefined) => () => {
      clearTimeout(timer);
      act?.();
    };
    const end = over(then.onEnd);
    const id = connection.call({
      body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method, params })),
      idText: '0',
      onAnswer: over(then.onAnswer),
      onProgress: () => undefined,
      onEnd: end,
    });
    if (id === undefined) end();
  }

  #openSession(exchange: ChannelExchange): void {
    if (exchange.isOver) return;
    const session = this.#sessions.open();
    if (session) {
      exchange.opens = session.id;
      exchange.replyResult(this.#process.initializeResult);
    } else {
      exchange.fail(callFailure(this.#options.config.name, 'busy', false));
    }
  }

  #whenReady(exchange: ChannelExchange, go: (connection: StdioConnection) => void): void {
    const fail = (error: unknown) => {
      const reason = error instanceof Restarting ? 'restarting' : 'unavailable';
      exchange.fail(callFailure(this.#options.config.name, reason, false, error));
    };
    const start = (connection: StdioConnection) => {
      if (!exchange.isOver) go(connection);
    };
    try {
      const connection = this.#process.obtain();
      if (connection instanceof Promise) connection.then(start).catch(fail);
      else start(connection);
    } catch (error) {
      fail(error);
    }
  }

  #ready(connection: StdioConnection, again: boolean): void {
    this.#connection = connection;
    if (!again) return;
    this.#tell(undefined);
    for (const uri of new Set([...this.#sessions.values()].flatMap(({ subscriptions }) => [...subscriptions])))
      this.#ask(connection, 'resources/subscribe', { uri });
    for (const method of new Set(LIST_KINDS.map((kind) => LIST_SPECS[kind].changed)))
      this.#options.onListChanged(method);
  }

  #takeUnsolicited(line: Buffer, message: BackendMessage): void {
    const { method = '', idText } = message;
    if (message.kind === 'request') {
      // The process was told that its client has no capabilities.
      const outcome =
        method === 'ping' ? '"result":{}' : `"error":{"code":${METHOD_NOT_FOUND},"message":"Method not found"}`;
      this.#connection?.send(Buffer.from(`{"jsonrpc":"2.0","id":${idText ?? 'null'},${outcome}}`));
    } else if (isListChanged(method)) this.#options.onListChanged(method);
    else if (method === 'notifications/resources/updated') this.#tellSubscribers(line, message);
  }

  #tellSubscribers(line: Buffer, message: BackendMessage): void {
    const uri = stringAt(line, message.spans['params.uri']);
    if (uri === undefined) return;
    for (const { listener, subscriptions } of this.#sessions.values())
      if (subscriptions.has(uri)) listener?.relay(line);
  }

  #subscribe(exchange: ChannelExchange, session: ChannelSession, connection: StdioConnection): void {
    const uri = uriOf(exchange);
    if (uri !== undefined && session.subscriptions.size >= MAX_SUBSCRIPTIONS) {
      exchange.fail(callFailure(this.#options.config.name, 'busy', false));
      return;
    }
    if (uri !== undefined) session.subscriptions.add(uri);
    exchange.begin(connection);
  }

  #unsubscribe(exchange: ChannelExchange, session: ChannelSession, connection: StdioConnection): void {
    const uri = uriOf(exchange);
    if (uri !== undefined) session.subscriptions.delete(uri);
    // The process has one client: the subscription continues while another session uses it.
    if (uri !== undefined && this.#isWanted(uri)) exchange.replyResult('{}');
    else exchange.begin(connection);
  }

  #isWanted(uri: string): boolean {
    for (const { subscriptions } of this.#sessions.values()) if (subscriptions.has(uri)) return true;
    return false;
  }

  #forgetSubscriptions({ subscriptions }: ChannelSession): void {
    for (const uri of subscriptions)
      if (this.#connection && !this.#isWanted(uri)) this.#ask(this.#connection, 'resources/unsubscribe', { uri });
  }
}

function uriOf({ call }: ChannelExchange): string | undefined {
  const message = call.body && decodeRequest(call.body);
  const uri = message?.kind === 'request' ? message.params?.uri : undefined;
  return typeof uri === 'string' ? uri : undefined;
}
