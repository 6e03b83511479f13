// Server-sent events, WHATWG HTML §9.2: parsed from bytes as they arrive, whatever the chunks' borders.

/** One event. An event without data is given too where it carries an id or a retry: MCP streams open with such a one. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  /** Empty where the event has no data. */
  readonly data: string;
  /** Milliseconds. */
  readonly retry: number | undefined;
}

/** The sender puts more into one event than is let through. */
export class SseEventTooLarge extends Error {
  override readonly name = 'SseEventTooLarge';
}

export interface SseParserSettings {
  /** Bytes of one event, its field names included. */
  readonly maxEventBytes: number;
  readonly onEvent: (event: SseEvent) => void;
}

export interface SseParser {
  /** Takes the next bytes; calls onEvent for each event that they complete. Throws SseEventTooLarge. */
  push(chunk: Buffer): void;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const DIGITS = /^\d{1,9}$/;

/** What each further data line of one event counts for besides its bytes: an event of a million empty lines is no small one. */
const LINE_COST = 32;
/** A buffer for unfinished lines that is larger than this is not kept for the next one. */
const KEEP_BYTES = 65_536;

/** What the lines since the last blank one have said. */
interface Fields {
  id: string | undefined;
  event: string | undefined;
  readonly data: string[];
  retry: number | undefined;
}
const noFields = (): Fields => ({ id: undefined, event: undefined, data: [], retry: undefined });

function takeField(fields: Fields, name: string, value: string): void {
  if (name === 'data') fields.data.push(value);
  else if (name === 'event') fields.event = value;
  else if (name === 'id' && !value.includes('\0')) fields.id = value;
  else if (name === 'retry' && DIGITS.test(value)) fields.retry = Number(value);
}

function takeLine(fields: Fields, line: Buffer): void {
  let colon = line.indexOf(COLON);
  if (colon < 0) colon = line.length;
  // No field that counts has a longer name: the rest of the line need not be read.
  if (colon === 0 || colon > 5) return;
  const value = line[colon + 1] === SPACE ? colon + 2 : colon + 1;
  takeField(fields, line.toString('latin1', 0, colon), value < line.length ? line.toString('utf8', value) : '');
}

/** Position of the next line end, or -1. Most streams have no CR; in one that has, no byte is looked at twice. */
function findLineEnd(chunk: Buffer, from: number, hasCr: boolean): number {
  if (!hasCr) return chunk.indexOf(LF, from);
  for (let at = from; at < chunk.length; at++) if (chunk[at] === LF || chunk[at] === CR) return at;
  return -1;
}

/** A parser of one stream. It keeps the bytes of one unfinished event at most. */
export function createSseParser(settings: SseParserSettings): SseParser {
  return new StreamParser(settings);
}

class StreamParser implements SseParser {
  readonly #settings: SseParserSettings;
  /** The beginning of a line whose end has not come yet: the first #pendingBytes of it. */
  #pending: Buffer = Buffer.alloc(0);
  #pendingBytes = 0;
  #eventBytes = 0;
  #fields = noFields();
  #isFirstLine = true;
  #endedWithCr = false;

  constructor(settings: SseParserSettings) {
    this.#settings = settings;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    const hasCr = chunk.includes(CR);
    let at = this.#endedWithCr && chunk[0] === LF ? 1 : 0;
    this.#endedWithCr = chunk.at(-1) === CR;
    for (;;) {
      const end = findLineEnd(chunk, at, hasCr);
      if (end < 0) break;
      this.#endLine(chunk.subarray(at, end));
      at = chunk[end] === CR && chunk[end + 1] === LF ? end + 2 : end + 1;
    }
    if (at < chunk.length) this.#keep(chunk.subarray(at));
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

  #endLine(rest: Buffer): void {
    if (this.#pendingBytes === 0) {
      this.#checkSize(rest.length);
      this.#takeWholeLine(rest);
      return;
    }
    this.#keep(rest);
    const line = this.#pending.subarray(0, this.#pendingBytes);
    this.#pendingBytes = 0;
    if (this.#pending.length > KEEP_BYTES) this.#pending = Buffer.alloc(0);
    this.#takeWholeLine(line);
  }

  #takeWholeLine(whole: Buffer): void {
    const line = this.#isFirstLine && whole.subarray(0, BOM.length).equals(BOM) ? whole.subarray(BOM.length) : whole;
    this.#isFirstLine = false;
    if (line.length === 0) {
      this.#endEvent();
    } else if (line[0] !== COLON) {
      // A comment leaves nothing behind, so a stream of them never fills an event.
      this.#eventBytes += line.length + (this.#fields.data.length > 0 ? LINE_COST : 0);
      takeLine(this.#fields, line);
    }
  }

  #endEvent(): void {
    const { id, event, data, retry } = this.#fields;
    this.#eventBytes = 0;
    this.#fields = noFields();
    if (data.length > 0 || id !== undefined || retry !== undefined)
      this.#settings.onEvent({ id, event, data: data.length === 1 ? (data[0] ?? '') : data.join('\n'), retry });
  }
}
