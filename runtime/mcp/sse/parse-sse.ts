// Parses server-sent events (WHATWG HTML §9.2) from bytes as they arrive, at any chunk borders.

import { isAscii } from 'node:buffer';

/** Includes events without data that carry an id or a retry, because MCP streams open with one. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  /** Empty if the event has no data. */
  readonly data: string;
  /** Milliseconds. */
  readonly retry: number | undefined;
}

/** Thrown if an event exceeds the limit. */
export class SseEventTooLarge extends Error {
  override readonly name = 'SseEventTooLarge';
}

export interface LargeData {
  /** A space replaces the end of a data line. */
  push(bytes: Buffer): void;
  end(fields: Pick<SseEvent, 'id' | 'retry'>): void;
}

interface SseParserSettings {
  /** Includes field names. */
  readonly maxEventBytes: number;
  readonly onEvent: (event: SseEvent) => void;
  /** Called once a data line exceeds `LARGE_BYTES` and is incomplete. Absent: large events go to `onEvent` too. */
  readonly onLarge?: () => LargeData;
}

export interface SseParser {
  /** @throws SseEventTooLarge */
  push(chunk: Buffer): void;
  readonly pending: number;
  /** Its data goes to `LargeData`, whose owner counts it. */
  readonly isLarge: boolean;
  /** Bytes of fields, without comments. */
  readonly arrived: number;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
/** The UTF-8 bytes of the byte order mark, read as latin1. */
const BOM = '\u00ef\u00bb\u00bf';
const LONGEST_NAME = 5;
const DIGITS = /^\d{1,9}$/;

/** Bytes for each further data line, because an event of a million empty lines uses much memory. */
const LINE_COST = 32;
/** A larger buffer for unfinished lines is not reused. */
const KEEP_BYTES = 65_536;
/** A larger data line is passed on in parts. */
export const LARGE_BYTES = 1_048_576;
const DATA = 'data:';
const BETWEEN_LINES = Buffer.from(' ');
const NOTHING = Buffer.alloc(0);

interface Fields {
  id: string | undefined;
  event: string | undefined;
  readonly data: string[];
  retry: number | undefined;
}
const noFields = (): Fields => ({ id: undefined, event: undefined, data: [], retry: undefined });

/** `text` is `bytes` as latin1, with equal positions. */
interface Source {
  readonly bytes: Buffer;
  readonly text: string;
  readonly isAscii: boolean;
}
const sourceOf = (bytes: Buffer): Source => ({ bytes, text: bytes.toString('latin1'), isAscii: isAscii(bytes) });

function valueOf(source: Source, start: number, end: number): string {
  return source.isAscii ? source.text.slice(start, end) : source.bytes.toString('utf8', start, end);
}

function takeLine(fields: Fields, source: Source, start: number, end: number): void {
  const { text } = source;
  let colon = start;
  // No known field has a longer name, so the rest of the line is not read.
  while (colon < end && text.charCodeAt(colon) !== COLON) if (++colon - start > LONGEST_NAME) return;
  const value = text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1;
  const name = text.slice(start, colon);
  if (name === 'data') fields.data.push(valueOf(source, value, Math.max(value, end)));
  else if (name === 'event') fields.event = valueOf(source, value, Math.max(value, end));
  else if (name === 'id') takeId(fields, source.bytes.toString('utf8', value, Math.max(value, end)));
  else if (name === 'retry') takeRetry(fields, text.slice(value, end));
}
function takeId(fields: Fields, value: string): void {
  if (!value.includes('\0')) fields.id = value;
}
function takeRetry(fields: Fields, value: string): void {
  if (DIGITS.test(value)) fields.retry = Number(value);
}

/** -1: none. Most streams have no CR; otherwise each byte is examined only once. */
function findLineEnd(text: string, from: number, hasCr: boolean): number {
  if (!hasCr) return text.indexOf('\n', from);
  for (let at = from; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === LF || c === CR) return at;
  }
  return -1;
}

function lineEndIn(bytes: Buffer): number {
  const lf = bytes.indexOf(LF);
  const cr = (lf < 0 ? bytes : bytes.subarray(0, lf)).indexOf(CR);
  return cr < 0 ? lf : cr;
}

/** The parser buffers at most one unfinished event. */
export function createSseParser(settings: SseParserSettings): SseParser {
  return new StreamParser(settings);
}

class StreamParser implements SseParser {
  readonly #settings: SseParserSettings;
  #pending: Buffer = Buffer.alloc(0);
  #pendingBytes = 0;
  #eventBytes = 0;
  #fields = noFields();
  #isFirstLine = true;
  #endedWithCr = false;
  #large: LargeData | undefined;
  #isInLargeLine = false;

  constructor(settings: SseParserSettings) {
    this.#settings = settings;
  }

  get pending(): number {
    return this.#eventBytes + this.#pendingBytes;
  }

  get isLarge(): boolean {
    return this.#large !== undefined;
  }

  get arrived(): number {
    return this.#pending[0] === COLON ? this.#eventBytes : this.pending;
  }

  push(bytes: Buffer): void {
    const chunk = this.#isInLargeLine ? this.#passLine(bytes) : bytes;
    if (chunk.length > 0) this.#takeLines(chunk);
    if (this.#pendingBytes > LARGE_BYTES) this.#handOver();
  }

  #takeLines(chunk: Buffer): void {
    const source = sourceOf(chunk);
    const { text } = source;
    const hasCr = text.includes('\r');
    let at = this.#endedWithCr && text.charCodeAt(0) === LF ? 1 : 0;
    this.#endedWithCr = hasCr && text.endsWith('\r');
    for (;;) {
      const end = findLineEnd(text, at, hasCr);
      if (end < 0) break;
      this.#endLine(source, at, end);
      at = text.charCodeAt(end) === CR && text.charCodeAt(end + 1) === LF ? end + 2 : end + 1;
    }
    if (at < chunk.length) this.#keep(at === 0 ? chunk : chunk.subarray(at));
  }

  #handOver(): void {
    const { onLarge } = this.#settings;
    if (!onLarge || this.#pending.toString('latin1', 0, DATA.length) !== DATA) return;
    const line = this.#pending.subarray(0, this.#pendingBytes);
    this.#eventBytes += line.length;
    this.#pending = NOTHING;
    this.#pendingBytes = 0;
    this.#isInLargeLine = true;
    this.#passData(line.subarray(line[DATA.length] === SPACE ? DATA.length + 1 : DATA.length), onLarge);
  }

  #passData(value: Buffer, onLarge: () => LargeData): void {
    const earlier = this.#fields.data.splice(0);
    if (this.#large) this.#large.push(BETWEEN_LINES);
    else this.#large = onLarge();
    if (earlier.length > 0) this.#large.push(Buffer.from(`${earlier.join(' ')} `));
    this.#large.push(value);
  }

  /** @returns the bytes after the line */
  #passLine(chunk: Buffer): Buffer {
    const end = lineEndIn(chunk);
    const part = end < 0 ? chunk : chunk.subarray(0, end);
    this.#checkSize(part.length);
    this.#eventBytes += part.length;
    if (part.length > 0) this.#large?.push(part);
    if (end < 0) return NOTHING;
    this.#isInLargeLine = false;
    this.#endedWithCr = chunk[end] === CR;
    return chunk.subarray(end + 1);
  }

  #keep(part: Buffer): void {
    const needed = this.#pendingBytes + part.length;
    this.#checkSize(needed);
    if (needed > this.#pending.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#pending.length));
      this.#pending.copy(larger, 0, 0, this.#pendingBytes);
      this.#pending = larger;
    }
    part.copy(this.#pending, this.#pendingBytes);
    this.#pendingBytes = needed;
  }

  #checkSize(lineBytes: number): void {
    if (this.#eventBytes + lineBytes <= this.#settings.maxEventBytes) return;
    this.#pending = Buffer.alloc(0);
    this.#pendingBytes = 0;
    throw new SseEventTooLarge('an event is larger than the limit');
  }

  #endLine(source: Source, start: number, end: number): void {
    if (this.#pendingBytes === 0) {
      this.#checkSize(end - start);
      this.#takeWholeLine(source, start, end);
      return;
    }
    this.#keep(source.bytes.subarray(start, end));
    const line = sourceOf(this.#pending.subarray(0, this.#pendingBytes));
    this.#pendingBytes = 0;
    if (this.#pending.length > KEEP_BYTES) this.#pending = Buffer.alloc(0);
    this.#takeWholeLine(line, 0, line.bytes.length);
  }

  #takeWholeLine(source: Source, from: number, end: number): void {
    const start = this.#isFirstLine && source.text.startsWith(BOM, from) ? from + BOM.length : from;
    this.#isFirstLine = false;
    if (start === end) {
      this.#endEvent();
    } else if (source.text.charCodeAt(start) !== COLON) {
      // Comments do not count, so a stream of them never fills an event.
      this.#eventBytes += end - start + (this.#fields.data.length > 0 ? LINE_COST : 0);
      takeLine(this.#fields, source, start, end);
    }
  }

  #endEvent(): void {
    const { id, event, data, retry } = this.#fields;
    this.#eventBytes = 0;
    this.#fields = noFields();
    const large = this.#large;
    if (large) {
      this.#large = undefined;
      if (data.length > 0) large.push(Buffer.from(` ${data.join(' ')}`));
      large.end({ id, retry });
      return;
    }
    if (data.length > 0 || id !== undefined || retry !== undefined)
      this.#settings.onEvent({ id, event, data: data.length === 1 ? (data[0] ?? '') : data.join('\n'), retry });
  }
}
