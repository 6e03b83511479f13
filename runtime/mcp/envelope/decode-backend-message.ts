import { idTextOf } from './message-id.ts';
import { scanEnvelope, type Envelope, type MetaMember, type Span, type Spans } from './scan-envelope.ts';
import { BRACE, decodeKey, isPlainKey } from './scan-json.ts';
import { splice, spliceText, type Edit } from './splice.ts';

/** Which reserved `_meta` keys of a backend may pass. */
type KeepMeta = (key: string) => boolean;

/** How a response ended: `tool_error` is a result whose `isError` is true, which means something for tools/call only. */
export type AnswerKind = 'result' | 'tool_error' | 'error';

/** One JSON-RPC message of a backend. Only its outer levels were read: what lies deeper may even be no JSON. */
export interface BackendMessage {
  readonly kind: 'request' | 'notification' | 'response';
  /** The one JSON text of the id, as `decodeRequest` gives it. Undefined: no id, or the null of an error without request. */
  readonly idText: string | undefined;
  /** Of a request or notification. */
  readonly method: string | undefined;
  /** Of a response. */
  readonly answerKind: AnswerKind;
  /** Byte offsets where bytes were decoded, character offsets where a string was. */
  readonly spans: Spans;
  /** Members of `_meta` of params or result. */
  readonly meta: readonly MetaMember[];
  /** Whether `_meta` has keys that belong to the protocol: a backend's own are dropped by `clean`. */
  readonly hasReservedMeta: boolean;
  /** The message, which must be the bytes that were decoded, without the reserved `_meta` keys except those to keep. */
  clean(body: Buffer, keep?: KeepMeta): Buffer;
  /** The same for a message that was decoded from a string. */
  cleanText(text: string, keep?: KeepMeta): string;
}

/** The JSON string in this range; undefined where the value is no string. */
function stringAt(envelope: Envelope, span: Span | undefined, isLatin1: boolean): string | undefined {
  if (!span || envelope.text.charCodeAt(span.start) !== 0x22) return undefined;
  const inside = envelope.text.slice(span.start + 1, span.end - 1);
  return isPlainKey(inside) ? inside : decodeKey(inside, isLatin1);
}

/** Undefined: there is none. Null: what stands there is no id. */
function readIdText(envelope: Envelope, isLatin1: boolean): string | null | undefined {
  const span = envelope.spans.id;
  if (!span) return undefined;
  const written = envelope.text.slice(span.start, span.end);
  if (written === 'null') return undefined;
  const value = envelope.text.charCodeAt(span.start) === 0x22 ? stringAt(envelope, span, isLatin1) : Number(written);
  return idTextOf(value, written) ?? null;
}

/** `_meta` written anew from the members that stay, each as it stood. */
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

// Shared by all messages, so that a message costs no closures: `this` is the message.
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

/** Of a message with a method. Undefined where its members contradict each other. */
function kindOfCall(spans: Spans, method: string | undefined, idText: string | undefined): Kind | undefined {
  if (method === undefined || method === '' || spans.result || spans.error) return undefined;
  if (!spans.id) return 'notification';
  return idText === undefined ? undefined : 'request';
}

/** Whether a message without a method is a response: one outcome, which is an object, and no second place for `_meta`. */
function isResponse(envelope: Envelope, idText: string | undefined): boolean {
  const { result, error, params } = envelope.spans;
  if (params || (result && error)) return false;
  return result ? idText !== undefined && isObjectAt(envelope, result) : isObjectAt(envelope, error);
}

/**
 * Reads the outer levels of what a backend sent, without parsing it; the cost of a large result is that of skipping it.
 * Undefined: it is no single JSON-RPC message, or it names a key twice, nests too deeply, or varies a known key by case.
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
