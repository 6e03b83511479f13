import { isAscii, isUtf8 } from 'node:buffer';
import { RequestError } from '#runtime/errors';
import { idTextOf, type MessageId } from './message-id.ts';
import { scanEnvelope, type Envelope, type EnvelopeProblem, type MetaMember, type Spans } from './scan-envelope.ts';

export type JsonObject = Record<string, unknown>;

interface Decoded {
  readonly spans: Spans;
  readonly meta: readonly MetaMember[];
}
export interface DecodedRequest extends Decoded {
  readonly kind: 'request';
  readonly id: MessageId;
  /** Canonical JSON text: equal ids have equal texts. */
  readonly idText: string;
  readonly method: string;
  readonly params: JsonObject | undefined;
}
export interface DecodedNotification extends Decoded {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonObject | undefined;
}
export interface DecodedResponse extends Decoded {
  readonly kind: 'response';
  readonly id: MessageId;
  readonly idText: string;
  readonly outcome: 'result' | 'error';
}
export type DecodedMessage = DecodedRequest | DecodedNotification | DecodedResponse;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

const texts: Record<EnvelopeProblem, string> = {
  malformed: 'the body is not valid JSON',
  too_deep: 'the body is nested too deeply',
  not_an_object: 'the body is not a JSON-RPC message',
  batch: 'batches are not accepted: send one message per request',
  duplicate_key: 'a key occurs twice',
  case_variant_key: 'a key differs from a known one by case only',
  params_not_an_object: 'params is not an object',
  meta_not_an_object: '_meta is not an object',
};

function parseError(text: string, cause?: unknown): RequestError {
  return new RequestError({ status: 400, code: 'parse_error', text, rpc: { code: PARSE_ERROR } }, { cause });
}
function invalid(text: string): RequestError {
  return new RequestError({ status: 400, code: 'invalid_request', text, rpc: { code: INVALID_REQUEST } });
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw parseError(texts.malformed, cause);
  }
}

function readId(message: JsonObject, envelope: Envelope): { id: MessageId; idText: string } {
  const { id } = message;
  const span = envelope.spans.id;
  const idText = idTextOf(id, span ? envelope.text.slice(span.start, span.end) : '');
  if (idText === undefined || (typeof id !== 'string' && typeof id !== 'number'))
    throw invalid('id must be a string or an integer');
  return { id, idText };
}

function classify(message: JsonObject, envelope: Envelope): DecodedMessage {
  const { spans, meta } = envelope;
  const { method, params } = message;
  if (message.jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0"');
  const outcomes = Number(spans.result !== undefined) + Number(spans.error !== undefined);
  if (spans.method) {
    if (typeof method !== 'string' || method === '') throw invalid('method must be a string');
    if (outcomes > 0) throw invalid('a message is a request or a response, not both');
    // The walk has already rejected params that are not an object.
    const parsed = isJsonObject(params) ? params : undefined;
    if (!spans.id) return { kind: 'notification', method, params: parsed, spans, meta };
    const { id, idText } = readId(message, envelope);
    return { kind: 'request', id, idText, method, params: parsed, spans, meta };
  }
  if (outcomes !== 1) throw invalid('a message needs a method, a result or an error');
  if (!isJsonObject(message.result ?? message.error)) throw invalid('result and error must be objects');
  const { id, idText } = readId(message, envelope);
  return { kind: 'response', id, idText, outcome: spans.result ? 'result' : 'error', spans, meta };
}

/** Rejects keys that two parsers could read differently. @throws RequestError 400: -32700 (no UTF-8, no JSON), -32600 (no message) */
export function decodeRequest(body: Buffer): DecodedMessage {
  const ascii = isAscii(body);
  if (!ascii && !isUtf8(body)) throw parseError('the body is not valid UTF-8');
  const bytes = body.toString('latin1');
  const envelope = scanEnvelope(bytes, true, true);
  // Before the native parse, to save its time and memory.
  if (envelope.problem === 'too_deep') throw invalid(texts.too_deep);
  const message = parse(ascii ? bytes : body.toString('utf8'));
  if (envelope.problem) throw invalid(texts[envelope.problem]);
  if (!isJsonObject(message)) throw invalid(texts.not_an_object);
  return classify(message, envelope);
}
