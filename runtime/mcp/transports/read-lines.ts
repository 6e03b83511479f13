const LF = 0x0a;
const CR = 0x0d;
const HEAD_BYTES = 4096;
const TAIL_BYTES = 256;
/** A larger buffer for unfinished lines is not reused. */
const KEEP_BYTES = 65_536;

const LARGE_BYTES = 1_048_576;

export interface LargeLine {
  push(bytes: Buffer): void;
  end(): void;
  drop(): void;
}

interface LineReaderSettings {
  readonly maxLineBytes: number;
  /** The buffer belongs to the callee. */
  readonly onLine: (line: Buffer) => void;
  readonly onOversized: (head: Buffer, tail: Buffer) => void;
  /** Absent: large lines go to `onLine` too. */
  readonly onLarge?: () => LargeLine;
}

/** Buffers at most one unfinished line. */
export class LineReader {
  readonly #settings: LineReaderSettings;
  #pending: Buffer = Buffer.alloc(0);
  #pendingBytes = 0;
  #head: Buffer | undefined;
  #tail: Buffer = Buffer.alloc(0);
  #large: LargeLine | undefined;
  #largeHead: Buffer = Buffer.alloc(0);

  constructor(settings: LineReaderSettings) {
    this.#settings = settings;
  }

  push(chunk: Buffer): void {
    let at = 0;
    for (;;) {
      const end = chunk.indexOf(LF, at);
      if (end < 0) break;
      this.#keep(chunk.subarray(at, end));
      this.#endLine();
      at = end + 1;
    }
    if (at < chunk.length) this.#keep(chunk.subarray(at));
    if (this.#pending.length > LARGE_BYTES && this.#pendingBytes > LARGE_BYTES) this.#handOver();
  }

  #handOver(): void {
    this.#large = this.#settings.onLarge?.();
    if (!this.#large) return;
    this.#largeHead = Buffer.from(this.#pending.subarray(0, HEAD_BYTES));
    this.#large.push(this.#pending.subarray(0, this.#pendingBytes));
    this.#pending = Buffer.alloc(0);
  }

  #keep(part: Buffer): void {
    if (this.#head) {
      this.#tail = Buffer.concat([this.#tail, part.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
      return;
    }
    const needed = this.#pendingBytes + part.length;
    if (this.#large) {
      this.#pass(this.#large, part, needed);
      return;
    }
    if (needed > this.#settings.maxLineBytes) {
      const start = Buffer.concat([this.#pending.subarray(0, this.#pendingBytes), part.subarray(0, HEAD_BYTES)]);
      this.#head = Buffer.from(start.subarray(0, HEAD_BYTES));
      this.#tail = Buffer.concat([start.subarray(-TAIL_BYTES), part.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
      this.#forget();
      return;
    }
    if (needed > this.#pending.length) {
      const larger = Buffer.allocUnsafe(
        Math.min(Math.max(needed, 2 * this.#pending.length), this.#settings.maxLineBytes),
      );
      this.#pending.copy(larger, 0, 0, this.#pendingBytes);
      this.#pending = larger;
    }
    part.copy(this.#pending, this.#pendingBytes);
    this.#pendingBytes = needed;
  }

  #pass(large: LargeLine, part: Buffer, needed: number): void {
    if (needed <= this.#settings.maxLineBytes) {
      this.#pendingBytes = needed;
      if (part.length > 0) large.push(part);
      return;
    }
    this.#large = undefined;
    this.#head = this.#largeHead;
    this.#tail = Buffer.from(part.subarray(-TAIL_BYTES));
    this.#forget();
    large.drop();
  }

  #forget(): void {
    this.#pendingBytes = 0;
    if (this.#pending.length > KEEP_BYTES) this.#pending = Buffer.alloc(0);
  }

  #endLine(): void {
    if (this.#head) {
      const head = this.#head;
      this.#head = undefined;
      this.#settings.onOversized(head, this.#tail);
      return;
    }
    const large = this.#large;
    if (large) {
      this.#large = undefined;
      this.#forget();
      large.end();
      return;
    }
    const bytes = this.#pending[this.#pendingBytes - 1] === CR ? this.#pendingBytes - 1 : this.#pendingBytes;
    const line = Buffer.from(this.#pending.subarray(0, bytes));
    this.#forget();
    if (line.length > 0) this.#settings.onLine(line);
  }
}
