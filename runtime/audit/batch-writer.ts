import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '#runtime/telemetry/log';
import type { Sink } from './sinks.ts';

export interface AuditCounts {
  written: number;
  dropped: number;
}

interface WriterOptions {
  readonly sink: Sink;
  readonly log: Log;
  readonly counts: AuditCounts;
  /** Limit of buffered bytes; default 8 MiB. */
  readonly maxBytes?: number;
  /** Milliseconds in which a batch gathers lines; default 20. */
  readonly gather?: number;
  /** Milliseconds until a failed write is retried; default 1 s. */
  readonly retry?: number;
}

const REPORT_EVERY = 10_000;

/** Writes lines in batches and retries failed writes. Adding never waits: over the bound, lines are dropped, counted and logged. */
export class BatchWriter {
  readonly #options: Required<WriterOptions>;
  #lines: string[] = [];
  #bytes = 0;
  /** The batch in progress; after a failure, its unwritten part. */
  #batch: { bytes: Buffer; lines: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #failing = false;
  #closing: Promise<void> | undefined;
  #closed = false;
  #unreported = 0;
  #reporter: NodeJS.Timeout | undefined;

  constructor(options: WriterOptions) {
    this.#options = { maxBytes: 8 * 1024 * 1024, gather: 20, retry: 1_000, ...options };
  }

  add(line: string): void {
    const waiting = this.#bytes + (this.#batch?.bytes.length ?? 0);
    if (this.#closed || waiting + line.length > this.#options.maxBytes) {
      this.drop(1);
      return;
    }
    this.#lines.push(line);
    this.#bytes += line.length + 1;
    this.#schedule(this.#options.gather);
  }

  /** Counts lost lines. Logs the count at once, then at most every ten seconds. */
  drop(lines: number): void {
    this.#options.counts.dropped += lines;
    this.#unreported += lines;
    if (this.#reporter !== undefined) return;
    this.#report();
    this.#reporter = setTimeout(() => {
      this.#reporter = undefined;
      if (this.#unreported > 0) this.drop(0);
    }, REPORT_EVERY).unref();
  }

  reopen(): void {
    try {
      this.#options.sink.reopen();
    } catch (error) {
      this.#options.log.error('audit log cannot be opened anew; the file that is open is kept', { error });
    }
  }

  /** Writes the buffered lines for at most `deadline` milliseconds, then drops the others. */
  close(deadline: number): Promise<void> {
    this.#closing ??= this.#finish(deadline);
    return this.#closing;
  }

  async #finish(deadline: number): Promise<void> {
    const finished = new AbortController();
    const late = delay(deadline, true, { signal: finished.signal }).catch(() => true);
    clearTimeout(this.#timer);
    let over = false;
    while (!over && this.#left() > 0) over = await Promise.race([late, this.#writeBatch().then(() => this.#pause())]);
    finished.abort();
    this.#closed = true;
    clearTimeout(this.#timer);
    if (this.#left() > 0) this.drop(this.#left());
    clearTimeout(this.#reporter);
    this.#options.sink.close();
  }

  #left(): number {
    return this.#lines.length + (this.#batch?.lines ?? 0);
  }

  async #pause(): Promise<false> {
    if (this.#failing) await delay(50, undefined, { ref: false });
    return false;
  }

  #schedule(after: number): void {
    if (this.#timer !== undefined || this.#writing !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#writeBatch();
    }, after).unref();
  }

  #writeBatch(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#left() > 0) this.#schedule(this.#failing ? this.#options.retry : this.#options.gather);
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const batch = (this.#batch ??= this.#takeLines());
    try {
      while (batch.bytes.length > 0) batch.bytes = batch.bytes.subarray(await this.#options.sink.write(batch.bytes));
      this.#options.counts.written += batch.lines;
      this.#batch = undefined;
      if (this.#failing) this.#options.log.info('audit log is written again');
      this.#failing = false;
    } catch (error) {
      if (!this.#failing && !this.#closed)
        this.#options.log.error('audit log cannot be written; trying again', { error });
      this.#failing = true;
    }
  }

  #takeLines(): { bytes: Buffer; lines: number } {
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    return { bytes: Buffer.from(lines.length === 0 ? '' : `${lines.join('\n')}\n`), lines: lines.length };
  }

  #report(): void {
    this.#options.log.error('audit events were dropped, as the audit log takes them too slowly', {
      events: this.#unreported,
    });
    this.#unreported = 0;
  }
}
