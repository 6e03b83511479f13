import { callFailure, NotStarted } from '#runtime/mcp/backends/failures';
import { decodeBackendMessage, type BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { addNoise, isListChanged, logStderr } from './observe-process.ts';
import type { ProcessMode, StdioBackendOptions } from './stdio-backend.ts';
import { StdioConnection, type Noise } from './stdio-connection.ts';
import type { StdioExchange } from './stdio-exchange.ts';
import { readCancellation, SessionTable, trackCall, type StdioSession } from './stdio-sessions.ts';

const INTERNAL_ERROR = -32603;

/** `stdio_process: perSession`: each session has a process, initialized by the client's own message, which is all that it knows. */
export class PerSessionProcesses implements ProcessMode {
  readonly #options: StdioBackendOptions;
  readonly #sessions: SessionTable;
  readonly #closing = new Set<Promise<void>>();
  #starts = 0;
  #failures = 0;
  #notBefore = 0;
  #reason: NotStarted | undefined;
  #isClosed = false;
  #pastNoise: Noise = { garbage: 0, stray: 0, oversized: 0 };

  constructor(options: StdioBackendOptions) {
    this.#options = options;
    this.#sessions = new SessionTable({
      max: Math.min(options.sessions.maxProcesses, options.sessions.max),
      idle: options.sessions.idle,
      now: options.now,
      onEnd: (session) => this.#stop(session),
    });
  }

  get noise(): Noise {
    let sum = this.#pastNoise;
    for (const { connection } of this.#sessions.values()) if (connection) sum = addNoise(sum, connection.noise);
    return sum;
  }
  get starts(): number {
    return this.#starts;
  }

  /** Each call is sent to the process of its session at once. */
  readonly isSilentStart = false;

  initialize(exchange: StdioExchange): void {
    const { name } = this.#options.config;
    // A call that began before a reload may come after it: nobody would end what it starts.
    if (this.#isClosed || this.#options.now() < this.#notBefore) {
      exchange.fail(callFailure(name, 'unavailable', false, this.#reason));
      return;
    }
    if (!this.#sessions.hasRoom()) {
      exchange.fail(callFailure(name, 'busy', false));
      return;
    }
    const session = this.#start();
    if (!session?.connection) {
      exchange.fail(callFailure(name, 'busy', false));
      return;
    }
    exchange.opens = session.id;
    const { connection } = session;
    exchange.onOver = (answer) => {
      if (answer && decodeBackendMessage(answer)?.hasResult) this.#failures = 0;
      else this.#giveUp(session, connection.isOver);
    };
    exchange.begin(connection);
  }

  request(exchange: StdioExchange, session: StdioSession | undefined): void {
    const { idText } = exchange.call;
    if (!session?.connection || idText === undefined) {
      exchange.fail(callFailure(this.#options.config.name, 'session_lost', false));
      return;
    }
    trackCall(exchange, session, idText);
    exchange.begin(session.connection);
  }

  message(exchange: StdioExchange, session: StdioSession): void {
    const { body } = exchange.call;
    const cancellation = readCancellation(exchange, session);
    // A cancellation speaks of the client's id, which means another call to the process.
    if (cancellation) cancellation.running?.cancel();
    else if (body && !session.connection?.send(body))
      exchange.fail(callFailure(this.#options.config.name, 'unavailable', false));
    exchange.accept();
  }

  find(headers: readonly string[]): StdioSession | undefined {
    return this.#sessions.find(headers);
  }

  end(session: StdioSession): void {
    this.#sessions.end(session);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#sessions.close();
    for (const session of [...this.#sessions.values()]) this.#sessions.end(session);
    await Promise.all(this.#closing);
  }

  #start(): StdioSession | undefined {
    const { config, env, log, secrets, maxResponseBytes } = this.#options;
    this.#starts++;
    const connection: StdioConnection = new StdioConnection({
      command: config.command,
      args: config.args,
      env,
      cwd: config.working_directory,
      maxLineBytes: maxResponseBytes,
      onStderr: logStderr(config.name, secrets, log).take,
      onUnsolicited: (line, message) => session && this.#takeUnsolicited(line, message, session),
      onExit: (reason) => session && this.#exited(session, reason),
    });
    const session = this.#sessions.open(connection);
    return session;
  }

  /** It never served. Where its process ended by itself, the next ones wait longer and longer. */
  #giveUp(session: StdioSession, hasFailed: boolean): void {
    this.#sessions.end(session);
    if (!hasFailed) return;
    const { backoff, now, log, config } = this.#options;
    this.#notBefore = now() + Math.min(backoff.first * 2 ** Math.min(this.#failures, 16), backoff.last);
    this.#failures++;
    log.warn('a process of a backend did not come up', { backend: config.name });
  }

  /** A session whose process is gone is gone: the client's next message opens another. */
  #exited(session: StdioSession, reason: string): void {
    this.#reason = new NotStarted(reason);
    if (!this.#isOpen(session)) return;
    this.#options.log.warn('the process of a session is gone', { backend: this.#options.config.name, reason });
    this.#sessions.end(session);
  }

  #isOpen(session: StdioSession): boolean {
    for (const one of this.#sessions.values()) if (one === session) return true;
    return false;
  }

  #stop({ connection }: StdioSession): void {
    if (!connection) return;
    this.#pastNoise = addNoise(this.#pastNoise, connection.noise);
    const closing = connection.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** What belongs to no call goes to the newest call's stream, where the client looks for it, or to its own stream. */
  #takeUnsolicited(line: Buffer, message: BackendMessage, session: StdioSession): void {
    if (message.kind === 'notification' && isListChanged(message.method ?? '')) {
      this.#options.onListChanged(message.method ?? '');
      return;
    }
    const target = [...session.calls.values()].at(-1) ?? session.listener;
    if (target) target.relay(line);
    else if (message.kind === 'request') {
      const error = `{"code":${INTERNAL_ERROR},"message":"The client is not listening"}`;
      session.connection?.send(Buffer.from(`{"jsonrpc":"2.0","id":${message.idText ?? 'null'},"error":${error}}`));
    }
  }
}
