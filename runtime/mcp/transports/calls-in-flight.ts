import { isUtf8 } from 'node:buffer';
import { decodeBackendMessage, type BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { scanEnvelope, type Span } from '#runtime/mcp/envelope/scan-envelope';
import { splice, type Edit } from '#runtime/mcp/envelope/splice';
import { ID_PLACE } from '#runtime/mcp/backends/large-answer';
import type { ReadMessage } from './large-message.ts';
import type { CallEnd, ChannelCall, ChannelEvents, Noise } from './channel.ts';

interface Pending {
  readonly call: ChannelCall;
  /** JSON text. */
  readonly tokenText: string | undefined;
}

const LAST_ID = /"id"\s*:\s*(\d{1,16})\s*\}\s*$/;

/** The channel numbers ids and progress tokens itself, so those of clients never collide. */
export class CallsInFlight {
  readonly noise: Noise = { garbage: 0, stray: 0, oversized: 0 };
  readonly #onUnsolicited: ChannelEvents['onUnsolicited'];
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  constructor(onUnsolicited: ChannelEvents['onUnsolicited']) {
    this.#onUnsolicited = onUnsolicited;
  }

  /** @returns the call's number, and the message with it; undefined if the message has no id */
  add(call: ChannelCall): { id: number; message: Buffer } | undefined {
    const { spans } = scanEnvelope(call.body.toString('latin1'), true, false);
    if (!spans.id) return undefined;
    const id = ++this.#lastId;
    const token = spans['params._meta.progressToken'];
    const edits: Edit[] = [{ ...spans.id, text: String(id) }];
    if (token) edits.push({ ...token, text: String(id) });
    this.#pending.set(id, { call, tokenText: token && call.body.toString('utf8', token.start, token.end) });
    return { id, message: splice(call.body, edits) };
  }

  has(id: number): boolean {
    return this.#pending.has(id);
  }

  /** Drops later messages of the call. @returns the call, if it was in flight */
  delete(id: number): ChannelCall | undefined {
    const call = this.#pending.get(id)?.call;
    this.#pending.delete(id);
    return call;
  }

  take(raw: Buffer): void {
    // Clients must not receive invalid UTF-8 from a backend.
    const line = isUtf8(raw) ? raw : Buffer.from(raw.toString('utf8'));
    const message = decodeBackendMessage(line);
    if (!message) this.noise.garbage++;
    else if (message.kind === 'response') this.#takeAnswer(line, message);
    else if (message.method === 'notifications/progress') this.#takeProgress(line, message);
    else this.#onUnsolicited(line, message);
  }

  takeLarge(read: ReadMessage): void {
    if (read.type === 'other') {
      this.take(read.message);
      return;
    }
    if (read.type === 'unreadable') {
      this.refuseOversized(read.head, read.tail);
      return;
    }
    const { pieces, idText, kind } = read;
    const call = this.delete(Number(idText));
    if (!call) {
      this.noise.stray++;
      return;
    }
    pieces[pieces.indexOf(ID_PLACE)] = Buffer.from(call.idText);
    if (call.taker) call.taker.passLarge(pieces, kind);
    else call.onAnswer(Buffer.concat(pieces), kind);
  }

  /** The beginning or the end of the message contains its id. */
  refuseOversized(head: Buffer, tail: Buffer): void {
    this.noise.oversized++;
    const start = head.toString('latin1');
    const { id } = scanEnvelope(start, true, false).spans;
    const number = Number(id ? start.slice(id.start, id.end) : LAST_ID.exec(tail.toString('latin1'))?.[1]);
    this.delete(number)?.onEnd('too_large');
  }

  endAll(end: CallEnd): void {
    const left = [...this.#pending.values()];
    this.#pending.clear();
    for (const { call } of left) call.onEnd(end);
  }

  #takeAnswer(line: Buffer, message: BackendMessage): void {
    const call = this.delete(Number(message.idText));
    const span = message.spans.id;
    if (!call || !span) {
      this.noise.stray++;
      return;
    }
    const answer = withoutForgedMeta(splice(line, [{ ...span, text: call.idText }]), message);
    call.onAnswer(answer, message.answerKind);
  }

  #takeProgress(line: Buffer, message: BackendMessage): void {
    const span = message.spans['params.progressToken'];
    const pending = span && this.#pending.get(numberAt(line, span));
    if (!span || pending?.tokenText === undefined) {
      this.noise.stray++;
      return;
    }
    pending.call.onProgress(withoutForgedMeta(splice(line, [{ ...span, text: pending.tokenText }]), message));
  }
}

function numberAt(line: Buffer, span: Span): number {
  return Number(line.toString('latin1', span.start, span.end));
}

/** A backend must not set the protocol's own `_meta` keys. */
function withoutForgedMeta(line: Buffer, { hasReservedMeta }: BackendMessage): Buffer {
  return hasReservedMeta ? (decodeBackendMessage(line)?.clean(line) ?? line) : line;
}
