import { LargeAnswer, NotTheAnswer } from '#runtime/mcp/backends/large-answer';
import type { AnswerKind } from '#runtime/mcp/envelope/decode-backend-message';
import { toOneLine } from './one-line.ts';
import { Utf8Pieces } from './utf8-pieces.ts';

const END_BYTES = 256;

/** A response in pieces with `ID_PLACE` in place of its id, another message, or an unreadable one. */
export type ReadMessage =
  | {
      readonly type: 'answer';
      readonly idText: string;
      readonly kind: AnswerKind;
      readonly pieces: Buffer[];
    }
  | { readonly type: 'other'; readonly message: Buffer }
  | { readonly type: 'unreadable'; readonly head: Buffer; readonly tail: Buffer };

/** Keeps one large message in the pieces in which it arrives. */
export class LargeMessage {
  readonly #utf8 = new Utf8Pieces();
  /** Undefined: the message is no response. */
  #answer: LargeAnswer | undefined;
  #isUnreadable = false;
  #pieces: Buffer[] = [];
  #head: Buffer | undefined;
  #tail: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): void {
    const piece = toOneLine(this.#utf8.push(bytes));
    this.#tail = piece.length < END_BYTES ? Buffer.concat([this.#tail, piece]).subarray(-END_BYTES) : piece;
    if (this.#head === undefined) this.#begin(piece);
    else if (this.#answer) this.#read(this.#answer, piece);
    else if (!this.#isUnreadable) this.#pieces.push(piece);
  }

  /** Keeps only the beginning and the end of the message. */
  forget(): void {
    this.#isUnreadable = true;
    this.#pieces = [];
  }

  end(): ReadMessage {
    const pieces = this.#pieces;
    this.#pieces = [];
    if (this.#isUnreadable) return this.#unreadable();
    if (!this.#answer) return { type: 'other', message: Buffer.concat(pieces) };
    try {
      const kind = this.#answer.end();
      return { type: 'answer', idText: this.#answer.idText, kind, pieces };
    } catch (error) {
      if (!(error instanceof NotTheAnswer)) throw error;
      return this.#unreadable();
    }
  }

  /** Servers write the result before the id, so the first piece shows whether the message is a response. */
  #begin(piece: Buffer): void {
    this.#head = Buffer.from(piece.subarray(0, END_BYTES));
    const answer = new LargeAnswer();
    this.#read(answer, piece);
    if (answer.hasOutcome) {
      this.#answer = answer;
      return;
    }
    this.#isUnreadable = false;
    this.#pieces = [piece];
  }

  #read(answer: LargeAnswer, piece: Buffer): void {
    if (this.#isUnreadable) return;
    try {
      this.#pieces.push(...answer.push(piece));
    } catch (error) {
      if (!(error instanceof NotTheAnswer)) throw error;
      this.#isUnreadable = true;
      this.#pieces = [];
    }
  }

  #unreadable(): ReadMessage {
    return { type: 'unreadable', head: this.#head ?? this.#tail, tail: this.#tail.subarray(-END_BYTES) };
  }
}
