import { NotStarted } from '#runtime/mcp/backends/failures';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import type { Log } from '#runtime/telemetry/log';
import { StdioConnection, type ConnectionSettings } from './stdio-connection.ts';

export interface Backoff {
  /** Milliseconds before the first new start; doubled with each failure. */
  readonly first: number;
  readonly last: number;
  /** Milliseconds of life after which a process counts as well again. */
  readonly healthy: number;
}

interface SharedProcessSettings {
  readonly backend: string;
  /** JSON text of the gateway's own initialize params. */
  readonly initializeParams: string;
  /** Milliseconds for a start, initialize included. */
  readonly startDeadline: number;
  readonly backoff: Backoff;
  readonly now: () => number;
  readonly log: Log;
  /** What the process said last on standard error, fit for a log. */
  readonly lastWords: () => string | undefined;
  readonly connection: Omit<ConnectionSettings, 'onExit'>;
  /** It is there; `again`: it was there before and has forgotten everything. */
  readonly onReady: (connection: StdioConnection, again: boolean) => void;
}

const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');

/** One process for everybody: started once, initialized by the gateway, and started again with growing delays. */
export class SharedProcess {
  readonly #settings: SharedProcessSettings;
  /** The process, once it is initialized. */
  #connection: StdioConnection | undefined;
  /** The process, from its start on. */
  #started: StdioConnection | undefined;
  #starting: Promise<StdioConnection> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #starts = 0;
  #isClosed = false;
  #reason = 'not started yet';
  #initializeResult = '{}';

  constructor(settings: SharedProcessSettings) {
    this.#settings = settings;
  }

  /** How often it was started. */
  get starts(): number {
    return this.#starts;
  }

  /** It was started, and has not said anything yet; its deadline is not over. */
  get isSilentStart(): boolean {
    return this.#starting !== undefined && this.#started?.isOver === false && !this.#started.hasSpoken;
  }

  /** JSON text of what it answered to initialize. */
  get initializeResult(): string {
    return this.#initializeResult;
  }

  /** The running process, or its start. @throws NotStarted while a new start waits for its time */
  obtain(): StdioConnection | Promise<StdioConnection> {
    if (this.#connection) return this.#connection;
    if (this.#isClosed || this.#timer) throw new NotStarted(this.#reason);
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Ends a process that no longer answers; the next one starts as after a crash. */
  restart(connection: StdioConnection): void {
    if (this.#connection === connection) void connection.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#started?.close();
    await this.#starting?.catch(() => undefined);
  }

  async #start(): Promise<StdioConnection> {
    const settings = this.#settings;
    const exited = Promise.withResolvers<never>();
    const startedAt = settings.now();
    this.#starts++;
    const connection = new StdioConnection({
      ...settings.connection,
      onExit: (reason) => {
        exited.reject(new NotStarted(reason));
        if (this.#connection === connection) this.#lose(reason, settings.now() - startedAt);
      },
    });
    this.#started = connection;
    try {
      const result = await Promise.race([this.#initialize(connection), exited.promise]);
      if (this.#isClosed) throw new NotStarted('was stopped');
      this.#initializeResult = JSON.stringify(withoutLogging(result));
      connection.send(INITIALIZED);
      this.#connection = connection;
      settings.onReady(connection, this.#starts > 1);
      return connection;
    } catch (error) {
      await connection.close();
      this.#lose(error instanceof Error ? error.message : 'failed', 0);
      throw error;
    }
  }

  #initialize(connection: StdioConnection): Promise<JsonObject> {
    const { initializeParams, startDeadline } = this.#settings;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new NotStarted('did not answer initialize in time')), startDeadline);
      const refuse = (reason: string) => {
        clearTimeout(timer);
        reject(new NotStarted(reason));
      };
      // What cannot be sent is followed by the exit.
      connection.call({
        body: Buffer.from(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":${initializeParams}}`),
        idText: '0',
        onAnswer: (line) => {
          clearTimeout(timer);
          const result = resultIn(line);
          if (result) resolve(result);
          else refuse('refused initialize');
        },
        onProgress: () => undefined,
        onEnd: (end) => {
          // How it exited is told by the exit itself.
          if (end === 'exited') clearTimeout(timer);
          else refuse('answered initialize above the size limit');
        },
      });
    });
  }

  #lose(reason: string, lifetime: number): void {
    const { backoff, log, backend, lastWords } = this.#settings;
    this.#connection = undefined;
    this.#reason = reason;
    if (this.#isClosed) return;
    if (lifetime >= backoff.healthy) this.#failures = 0;
    const wait = Math.min(backoff.first * 2 ** Math.min(this.#failures, 16), backoff.last);
    this.#failures++;
    // Of one that never served: why, in its own words.
    const said = lifetime === 0 ? lastWords() : undefined;
    log.warn('the process of a backend is gone', { backend, reason, startsAgainInMs: wait, ...(said && { said }) });
    this.#timer = setTimeout(() => this.#startAgain(), wait).unref();
  }

  #startAgain(): void {
    this.#timer = undefined;
    // Its failure is reported where it is found, and leads to the next start.
    Promise.resolve(this.obtain()).catch(() => undefined);
  }
}

function resultIn(line: Buffer): JsonObject | undefined {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'));
    return isJsonObject(message) && isJsonObject(message.result) ? message.result : undefined;
  } catch {
    return undefined;
  }
}

/** What a process logs for all its callers belongs to none of them, so none is offered it. */
function withoutLogging(result: JsonObject): JsonObject {
  if (!isJsonObject(result.capabilities)) return result;
  const kept = Object.entries(result.capabilities).filter(([name]) => name !== 'logging');
  return { ...result, capabilities: Object.fromEntries(kept) };
}
