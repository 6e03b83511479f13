import { idTextOf } from './message-id.ts';
import { scanEnvelope, type Envelope, type MetaMember, type Span, type Spans } from './scan-envelope.ts';
import { BRACE, decodeKey, isPlainKey } from './scan-json.ts';
import { splice, spliceText, type Edit } from './splice.ts';

type KeepMeta = (key: string) => boolean;

/**
 * `tool_error` is a result with `isError` true, which only has a meaning for tools/call. `task` is a result that names a
 * task which the backend has created (2026-07-28).
 */
export type AnswerKind = 'result' | 'tool_error' | 'task' | 'error';

/** Only the outer levels are decoded, so deeper text may be invalid JSON. */
export interface BackendMessage {
  readonly kind: 'request' | 'notification' | 'response';
  /** Canonical JSON text, as in `decodeRequest`. Undefined: no id, or the null of an error without request. */
  readonly idText: string | undefined;
  readonly method: string | undefined;
  readonly answerKind: AnswerKind;
  /** Byte offsets if bytes were decoded, character offsets if a string was. */
  readonly spans: Spans;
  readonly meta: readonly MetaMember[];
  /** Whether `_meta` has keys that belong to the protocol. `clean` removes them. */
  readonly hasReservedMeta: boolean;
  /** `body` must be the decoded bytes. */
  clean(body: Buffer, keep?: KeepMeta): Buffer;
  cleanText(text: string, keep?: KeepMeta): string;
}

function stringAt(envelope: Envelope, span: Span | undefined, isLatin1: boolean): string | undefined {
  if (!span || envelope.text.charCodeAt(span.start) !== 0x22) return undefined;
  const inside = envelope.text.slice(span.start + 1, span.end - 1);
  return isPlainKey(inside) ? inside : decodeKey(inside, isLatin1);
}

/** Undefined: there is no id. Null: the value is not an id. */
function readIdText(envelope: Envelope, isLatin1: boolean): string | null | undefined {
  const span = envelope.spans.id;
  if (!span) return undefined;
  const written = envelope.text.slice(span.start, span.end);
  if (written === 'null') return undefined;
  const value = envelope.text.charCodeAt(span.start) === 0x22 ? stringAt(envelope, span, isLatin1) : Number(written);
  return idTextOf(value, written) ?? null;
}

function metaWithout(text: string, meta: readonly MetaMember[], span: Span, keep: KeepMeta | undefined): string {
  const kept = meta.filter(({ key, reserved }) => !reserved || keep?.(key));
  return kept.length === meta.length
    ? text.slice(span.start, span.end)
    : `{${kept.map(({ start, end }) => text.slice(start, end)).join()}}`;
}

function editsOf({ spans, meta }: Pick<BackendMessage, 'spans' | 'meta'>, text: string, keep?: KeepMeta): Edit[] {
  const span = spans['result._meta'] ?? spans['params._meta'];
  return span ? [{ ...span, text: metaWithout(text, meta, span, keep) }] : [];
}

// All messages share this function (`this` is the message), so a message allocates no closures.
function clean(this: BackendMessage, body: Buffer, keep?: KeepMeta): Buffer {
  if (!this.hasReservedMeta) return body;
  const edits = editsOf(this, body.toString('latin1'), keep);
  return splice(
    body,
    edits.map(({ start, end, text }) => ({ start, end, text: fromLatin1(text) })),
  );
}
function cleanText(this: BackendMessage, text: string, keep?: KeepMeta): string {
  return this.hasReservedMeta ? spliceText(text, editsOf(this, text, keep)) : text;
}
const fromLatin1 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

function isObjectAt(envelope: Envelope, span: Span | undefined): boolean {
  return span !== undefined && envelope.text.charCodeAt(span.start) === BRACE;
}

function answerKindOf({ text, spans }: Envelope): AnswerKind {
  if (!spans.result) return 'error';
  const isError = spans['result.isError'];
  if (isError && text.startsWith('true', isError.start)) return 'tool_error';
  const type = spans['result.resultType'];
  return type && text.startsWith('"task"', type.start) ? 'task' : 'result';
}

type Kind = BackendMessage['kind'];

function kindOfCall(spans: Spans, method: string | undefined, idText: string | undefined): Kind | undefined {
  if (method === undefined || method === '' || spans.result || spans.error) return undefined;
  if (!spans.id) return 'notification';
  // Some clients look at the method only, and would accept what no check of notifications has seen.
  if (method.startsWith('notifications/')) return undefined;
  return idText === undefined ? undefined : 'request';
}

/** A response has one outcome, an object, and no second `_meta`. */
function isResponse(envelope: Envelope, idText: string | undefined): boolean {
  const { result, error, params } = envelope.spans;
  if (params || (result && error)) return false;
  return result ? idText !== undefined && isObjectAt(envelope, result) : isObjectAt(envelope, error);
}

/** Skips deep values without parsing. Undefined: no single JSON-RPC message, a duplicate or case-varied known key, or too deep. */
export function decodeBackendMessage(message: Buffer | string): BackendMessage | undefined {
  const isLatin1 = typeof message !== 'string';
  const envelope = scanEnvelope(isLatin1 ? message.toString('latin1') : message, isLatin1, false);
  const { spans, meta } = envelope;
  if (envelope.problem !== undefined || stringAt(envelope, spans.jsonrpc, isLatin1) !== '2.0') return undefined;
  const idText = readIdText(envelope, isLatin1);
  if (idText === null) return undefined;
  const method = stringAt(envelope, spans.method, isLatin1);
  const response = isResponse(envelope, idText) ? 'response' : undefined;
  const kind = spans.method ? kindOfCall(spans, method, idText) : response;
  if (kind === undefined) return undefined;
  return {
    kind,
    idText,
    method,
    answerKind: answerKindOf(envelope),
    spans,
    meta,
    hasReservedMeta: meta.some(({ reserved }) => reserved),
    clean,
    cleanText,
  };
}
