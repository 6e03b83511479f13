import { idTextOf } from './message-id.ts';
import { scanEnvelope, type Envelope, type MetaMember, type Span, type Spans } from './scan-envelope.ts';
import { BRACE, decodeKey, isPlainKey } from './scan-json.ts';
import { splice, spliceText, type Edit } from './splice.ts';

/** Decides whether a reserved `_meta` key of a backend may pass. */
type KeepMeta = (key: string) => boolean;

/** The outcome of a response. `tool_error` is a result with `isError` true, which only has a meaning for tools/call. */
export type AnswerKind = 'result' | 'tool_error' | 'error';

/** One JSON-RPC message of a backend. The decoder reads only the outer levels, so deeper text may be invalid JSON. */
export interface BackendMessage {
  readonly kind: 'request' | 'notification' | 'response';
  /**
   * The canonical JSON text of the id, as in `decodeRequest`. Undefined: no id, or the null of an error without
   * request.
   */
  readonly idText: string | undefined;
  /** Set for requests and notifications. */
  readonly method: string | undefined;
  /** Set for responses. */
  readonly answerKind: AnswerKind;
  /** Byte offsets if bytes were decoded, character offsets if a string was. */
  readonly spans: Spans;
  /** Members of `_meta` in params or result. */
  readonly meta: readonly MetaMember[];
  /** Whether `_meta` has keys that belong to the protocol. `clean` removes such keys of a backend. */
  readonly hasReservedMeta: boolean;
  /** Returns the message without reserved `_meta` keys, except those to keep. `body` must be the decoded bytes. */
  clean(body: Buffer, keep?: KeepMeta): Buffer;
  /** Returns the same for a message that was decoded from a string. */
  cleanText(text: string, keep?: KeepMeta): string;
}

/** Returns the JSON string in this range. Undefined if the value is no string. */
function stringAt(envelope: Envelope, span: Span | undefined, isLatin1: boolean): string | undefined {
  if (!span || envelope.text.charCodeAt(span.start) !== 0x22) return undefined;
  const inside = envelope.text.slice(span.start + 1, span.end - 1);
  return isPlainKey(inside) ? inside : decodeKey(inside, isLatin1);
}

/** Returns the id text. Undefined: there is no id. Null: the value is not an id. */
function readIdText(envelope: Envelope, isLatin1: boolean): string | null | undefined {
  const span = envelope.spans.id;
  if (!span) return undefined;
  const written = envelope.text.slice(span.start, span.end);
  if (written === 'null') return undefined;
  const value = envelope.text.charCodeAt(span.start) === 0x22 ? stringAt(envelope, span, isLatin1) : Number(written);
  return idTextOf(value, written) ?? null;
}

/** Returns `_meta` with only the kept members, each written as before. */
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
  return isError && text.startsWith('true', isError.start) ? 'tool_error' : 'result';
}

type Kind = BackendMessage['kind'];

/** Returns the kind of a message with a method. Undefined if its members contradict each other. */
function kindOfCall(spans: Spans, method: string | undefined, idText: string | undefined): Kind | undefined {
  if (method === undefined || method === '' || spans.result || spans.error) return undefined;
  if (!spans.id) return 'notification';
  // Some clients look at the method only, and would accept what no check of notifications has seen.
  if (method.startsWith('notifications/')) return undefined;
  return idText === undefined ? undefined : 'request';
}

/** Returns whether a message without a method is a response: it has one outcome, an object, and no second `_meta`. */
function isResponse(envelope: Envelope, idText: string | undefined): boolean {
  const { result, error, params } = envelope.spans;
  if (params || (result && error)) return false;
  return result ? idText !== undefined && isObjectAt(envelope, result) : isObjectAt(envelope, error);
}

/**
 * Decodes the outer levels of a backend's message without parsing it; a large result is only skipped. Undefined: the
 * text is not a single JSON-RPC message, has a duplicate key, nests too deeply, or varies the case of a known key.
 */
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
