import { decodeBackendMessage, type AnswerKind } from '#runtime/mcp/envelope/decode-backend-message';
import { idTextOf } from '#runtime/mcp/envelope/message-id';
import { MAX_DEPTH } from '#runtime/mcp/envelope/scan-json';

/** The bytes are not the answer to the request, or not the only one. */
export class NotTheAnswer extends Error {
  override readonly name = 'NotTheAnswer';
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
const BRACKET = 0x5b;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;
const SPACE = 0x20;

/** Bytes. */
const MAX_OUTLINE = 262_144;
export const ID_PLACE = Buffer.alloc(0);
const META_HEAD = '{"jsonrpc":"2.0","id":0,"result":{"_meta":';

/** Removes reserved `_meta` keys. The outline of the message has no large values, so memory does not grow. */
export class LargeAnswer {
  /** Undefined: any id, which is removed from the output. */
  readonly #wanted: string | undefined;
  #idText: string | undefined;
  #outline = Buffer.allocUnsafe(1024);
  #length = 0;
  #depth = 0;
  /** How many of them are in the outline: the envelope, then the result. */
  #inside = 0;
  #inString = false;
  #escaped = false;
  #expectsKey = false;
  #isKey = false;
  #keyStart = 0;
  #key = '';
  /** -1: outside `_meta`. */
  #metaStart = -1;
  #isInId = false;
  #hasOutcome = false;

  /** Without `idText`, any id is accepted and `ID_PLACE` replaces its bytes. */
  constructor(idText?: string) {
    this.#wanted = idText;
  }

  /** Only a result or an error proves that the message is a response. */
  get hasOutcome(): boolean {
    return this.#hasOutcome;
  }

  /** JSON text, available once `end` has returned. */
  get idText(): string {
    return this.#idText ?? '';
  }

  /** Returns bytes that may be passed on, including some held back before. @throws NotTheAnswer */
  push(chunk: Buffer): Buffer[] {
    const out: Buffer[] = [];
    let from = 0;
    for (let at = this.#skip(chunk, 0); at < chunk.length; at = this.#skip(chunk, at + 1)) {
      const wasInMeta = this.#metaStart >= 0;
      const wasInId = this.#isInId;
      const c = chunk[at] ?? 0;
      this.#take(c);
      if (wasInId !== this.#isInId) {
        out.push(wasInId ? ID_PLACE : chunk.subarray(from, at + 1));
        // The byte that ends a number belongs to the following text.
        from = wasInId && c !== QUOTE ? at : at + 1;
      } else if (wasInMeta ? this.#depth === 2 : this.#metaStart >= 0) {
        out.push(wasInMeta ? this.#endMeta() : chunk.subarray(from, at));
        from = at + 1;
      }
    }
    if (this.#metaStart < 0 && !this.#isInId) out.push(chunk.subarray(from));
    return out;
  }

  /** Inside a large string, only escapes and the closing quote matter. */
  #skip(chunk: Buffer, from: number): number {
    if (!this.#inString || this.#escaped || this.#isNoted()) return from;
    let at = from;
    while (at < chunk.length && chunk[at] !== QUOTE && chunk[at] !== BACKSLASH) at++;
    return at;
  }

  /** @throws NotTheAnswer */
  end(): AnswerKind {
    const message = this.#depth === 0 ? decodeBackendMessage(this.#outline.subarray(0, this.#length)) : undefined;
    if (message?.kind !== 'response' || message.idText !== (this.#wanted ?? this.#idText))
      throw new NotTheAnswer('not the answer');
    this.#idText = message.idText;
    return message.answerKind;
  }

  #take(c: number): void {
    if (this.#inString) this.#takeInString(c);
    else if (c === QUOTE) this.#openString();
    else if (c === BRACE || c === BRACKET) this.#open(c);
    else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) this.#close(c);
    else this.#takeBetween(c);
  }

  #isNoted(): boolean {
    if (this.#metaStart >= 0) return true;
    // Strings of the result may be large; those of the envelope are ids.
    return this.#depth === this.#inside && (!this.#inString || this.#isKey || this.#depth <= 1);
  }

  #takeInString(c: number): void {
    const isEnd = c === QUOTE && !this.#escaped;
    if (this.#isNoted() || (isEnd && this.#depth === this.#inside)) this.#note(c);
    this.#escaped = c === BACKSLASH && !this.#escaped;
    if (!isEnd) return;
    this.#inString = false;
    if (this.#isKey) this.#endKey();
    else this.#endValue();
    this.#isKey = false;
  }

  #openString(): void {
    const isOuter = this.#depth === this.#inside;
    this.#isKey = isOuter && this.#expectsKey && this.#metaStart < 0;
    this.#expectsKey = false;
    this.#keyStart = this.#length;
    if (isOuter || this.#metaStart >= 0) this.#note(QUOTE);
    this.#inString = true;
    this.#escaped = false;
  }

  #open(c: number): void {
    if (++this.#depth > MAX_DEPTH) throw new NotTheAnswer('nested too deeply');
    if (this.#metaStart >= 0) {
      this.#note(c);
      return;
    }
    if (this.#depth !== this.#inside + 1) return;
    this.#note(c);
    if (c === BRACE && this.#isOuter()) {
      this.#inside++;
      this.#expectsKey = true;
      this.#key = '';
    } else if (c === BRACE && this.#depth === 3 && this.#key === '_meta') {
      this.#metaStart = this.#length - 1;
    }
  }

  #isOuter(): boolean {
    return this.#depth === 1 || (this.#depth === 2 && this.#key === 'result');
  }

  #close(c: number): void {
    const isOuter = this.#metaStart < 0 && this.#depth === this.#inside;
    if (isOuter) this.#endValue();
    if (this.#metaStart >= 0 || this.#depth <= this.#inside + 1) this.#note(c);
    if (isOuter) {
      this.#inside--;
      this.#key = '';
      this.#expectsKey = false;
    }
    this.#depth--;
  }

  #takeBetween(c: number): void {
    if (this.#metaStart >= 0) {
      this.#note(c);
    } else if (this.#depth === this.#inside) {
      if (c === COMMA) {
        this.#endValue();
        this.#expectsKey = true;
      }
      if (c === COLON) {
        this.#keyStart = this.#length + 1;
        this.#isInId = this.#wanted === undefined && this.#depth === 1 && this.#key === 'id';
      }
      // The outline keeps one white-space character between tokens.
      if (c > SPACE || (this.#length > 0 && this.#outline[this.#length - 1] !== SPACE)) this.#note(Math.max(c, SPACE));
    }
  }

  /** If the id comes first, a wrong one is detected before the rest is passed on. */
  #endValue(): void {
    if (this.#depth !== 1 || this.#key !== 'id') return;
    const written = this.#outline.toString('latin1', this.#keyStart, this.#length).trim();
    this.#key = '';
    this.#isInId = false;
    this.#idText = this.#idOf(written);
    if (this.#idText === undefined || (this.#wanted !== undefined && this.#idText !== this.#wanted))
      throw new NotTheAnswer('the answer to something else');
  }

  #endKey(): void {
    this.#key = this.#readKey();
    if (this.#depth === 1 && (this.#key === 'result' || this.#key === 'error')) this.#hasOutcome = true;
  }

  #idOf(written: string): string | undefined {
    try {
      return idTextOf(JSON.parse(Buffer.from(written, 'latin1').toString('utf8')), written);
    } catch {
      return undefined;
    }
  }

  #readKey(): string {
    try {
      const key: unknown = JSON.parse(this.#outline.toString('utf8', this.#keyStart, this.#length));
      return typeof key === 'string' ? key : '';
    } catch {
      throw new NotTheAnswer('no JSON');
    }
  }

  #endMeta(): Buffer {
    const held = this.#outline.toString('utf8', this.#metaStart, this.#length);
    this.#metaStart = -1;
    this.#expectsKey = false;
    const body = Buffer.from(`${META_HEAD}${held}}}`);
    const message = decodeBackendMessage(body);
    if (!message) throw new NotTheAnswer('_meta is ambiguous');
    return message.clean(body).subarray(META_HEAD.length, -2);
  }

  #note(c: number): void {
    if (this.#length >= MAX_OUTLINE) throw new NotTheAnswer('more around the result than is let through');
    if (this.#length === this.#outline.length) {
      const larger = Buffer.allocUnsafe(2 * this.#length);
      this.#outline.copy(larger);
      this.#outline = larger;
    }
    this.#outline[this.#length++] = c;
  }
}
