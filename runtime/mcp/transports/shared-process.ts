import { NotStarted, RefusedInitialize, Restarting } from '#runtime/mcp/backends/failures';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import type { Log } from '#runtime/telemetry/log';
import { CrashBackoff, type Backoff, type ProcessEnd } from './crash-backoff.ts';
import { StdioConnection, type ConnectionSettings } from './stdio-connection.ts';

interface SharedProcessSettings {
  readonly backend: string;
  /** JSON text. */
  readonly initializeParams: string;
  /** Milliseconds, including initialize. */
  readonly startDeadline: number;
  readonly backoff: Backoff;
  readonly now: () => number;
  readonly log: Log;
  /** Lines of standard error, without secrets. */
  readonly lastWords: () => string | undefined;
  readonly connection: Omit<ConnectionSettings, 'onExit'>;
  /** `again`: an earlier process served, and its state is lost. */
  readonly onReady: (connection: StdioConnection, again: boolean) => void;
  /** `reason`: a text of this program. */
  readonly onGone: (reason: string) => void;
}

/** Milliseconds in which calls wait for the successor of a process that served. */
const QUEUED_FOR = 5_000;

const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');

/** One process for all sessions, restarted with growing delays. */
export class SharedProcess {
  readonly #settings: SharedProcessSettings;
  /** Set after its initialization. */
  #connection: StdioConnection | undefined;
  /** Set before its initialization, too. */
  #started: StdioConnection | undefined;
  #starting: Promise<StdioConnection> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Calls wait for this while a process that served is restarted. */
  #queue: PromiseWithResolvers<StdioConnection> | undefined;
  #queueTimer: NodeJS.Timeout | undefined;
  readonly #backoff: CrashBackoff;
  #hasServed = false;
  #isHung = false;
  #starts = 0;
  #isClosed = false;
  #reason = 'not started yet';
  #initializeResult = '{}';
  #hasLogs = false;

  constructor(settings: SharedProcessSettings) {
    this.#settings = settings;
    this.#backoff = new CrashBackoff(settings.backoff);
  }

  get starts(): number {
    return this.#starts;
  }

  get isSilentStart(): boolean {
    return this.#starting !== undefined && this.#started?.isOver === false && !this.#started.hasSpoken;
  }

  get hasLogs(): boolean {
    return this.#hasLogs;
  }

  /** JSON text. */
  get initializeResult(): string {
    return this.#initializeResult;
  }

  /** @throws NotStarted until the delay of a new start is over; Restarting if it served before and calls no longer wait */
  obtain(): StdioConnection | Promise<StdioConnection> {
    if (this.#connection) return this.#connection;
    if (this.#isClosed) throw new NotStarted(this.#reason);
    if (this.#queue) return this.#queue.promise;
    if (this.#hasServed) throw new Restarting(this.#reason);
    if (this.#timer) throw new NotStarted(this.#reason);
    return this.#begin();
  }

  restart(connection: StdioConnection): void {
    if (this.#connection !== connection) return;
    this.#isHung = true;
    void connection.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#endQueue()?.reject(new NotStarted('was stopped'));
    await this.#started?.close();
    await this.#starting?.catch(() => undefined);
  }

  #begin(): Promise<StdioConnection> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<StdioConnection> {
    const settings = this.#settings;
    const exited = Promise.withResolvers<never>();
    let servedFrom = 0;
    this.#starts++;
    const connection = new StdioConnection({
      ...settings.connection,
      onExit: (reason, wasKilled = false) => {
        exited.reject(new NotStarted(reason));
        if (this.#connection === connection) this.#lose(reason, { servedFor: settings.now() - servedFrom, wasKilled });
      },
    });
    this.#started = connection;
    try {
      const result = await Promise.race([this.#initialize(connection), exited.promise]);
      if (this.#isClosed) throw new NotStarted('was stopped');
      this.#hasLogs = isJsonObject(result.capabilities) && result.capabilities.logging !== undefined;
      this.#initializeResult = JSON.stringify(withoutLogging(result));
      connection.send(INITIALIZED);
      servedFrom = settings.now();
      this.#connection = connection;
      this.#hasServed = true;
      settings.onReady(connection, this.#starts > 1);
      this.#endQueue()?.resolve(connection);
      return connection;
    } catch (error) {
      await connection.close();
      const isRefused = error instanceof RefusedInitialize;
      const reason = error instanceof Error ? error.message : 'failed';
      this.#lose(reason, { servedFor: undefined, wasKilled: false }, isRefused);
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
      // If the message cannot be sent, the process has ended and its exit follows.
      connection.call({
        body: Buffer.from(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":${initializeParams}}`),
        idText: '0',
        onAnswer: (line) => {
          clearTimeout(timer);
          const result = resultIn(line);
          if (result) resolve(result);
          else reject(new RefusedInitialize());
        },
        onProgress: () => undefined,
        onEnd: (end) => {
          // The exit handler reports how it ended.
          if (end === 'exited') clearTimeout(timer);
          else refuse('answered initialize above the size limit');
        },
      });
    });
  }

  /** `isRefused`: the program may speak another revision, so only a request starts it again. */
  #lose(reason: string, end: ProcessEnd, isRefused = false): void {
    const { log, backend, lastWords, onGone } = this.#settings;
    this.#connection = undefined;
    this.#reason = reason;
    if (this.#isClosed) return;
    const wait = this.#backoff.next({ ...end, wasKilled: end.wasKilled && !this.#isHung });
    this.#isHung = false;
    const hasServed = end.servedFor !== undefined;
    // For a process that never served, its own last lines explain why.
    const said = hasServed ? undefined : lastWords();
    log.warn('the process of a backend is gone', { backend, reason, startsAgainInMs: wait, ...(said && { said }) });
    const next = () => (isRefused ? (this.#timer = undefined) : this.#startAgain());
    this.#timer = setTimeout(next, wait).unref();
    if (!hasServed) return;
    this.#openQueue();
    onGone(reason);
  }

  #startAgain(): void {
    this.#timer = undefined;
    // A failed start is reported elsewhere, and leads to the next start.
    this.#begin().catch(() => undefined);
  }

  #openQueue(): void {
    this.#queue = Promise.withResolvers<StdioConnection>();
    this.#queue.promise.catch(() => undefined);
    this.#queueTimer = setTimeout(() => this.#endQueue()?.reject(new Restarting(this.#reason)), QUEUED_FOR).unref();
  }

  #endQueue(): PromiseWithResolvers<StdioConnection> | undefined {
    const queue = this.#queue;
    this.#queue = undefined;
    clearTimeout(this.#queueTimer);
    return queue;
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

/** Log messages of a shared process belong to none of its clients. */
function withoutLogging(result: JsonObject): JsonObject {
  if (!isJsonObject(result.capabilities)) return result;
  const kept = Object.entries(result.capabilities).filter(([name]) => name !== 'logging');
  return { ...result, capabilities: Object.fromEntries(kept) };
}
