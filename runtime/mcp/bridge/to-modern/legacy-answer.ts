import type { AnswerKind, BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import type { Span, Spans } from '#runtime/mcp/envelope/scan-envelope';
import { BRACE } from '#runtime/mcp/envelope/scan-json';
import { omit } from '../omit.ts';
import { dropMember, dropMembers } from '#runtime/mcp/envelope/drop-members';
import { splice, spliceText, type Edit } from '#runtime/mcp/envelope/splice';

/** Answer of a legacy server. */
export interface LegacyAnswer {
  readonly text: string;
  readonly kind: AnswerKind;
}

/** The members of a modern result that legacy revisions do not have. */
const MODERN_MEMBERS: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);
const REPLACED: ReadonlySet<string> = new Set([...MODERN_MEMBERS, 'structuredContent']);
const WITHOUT_META: ReadonlySet<string> = new Set([...REPLACED, '_meta']);

/** JSON text of the type of a result that asks for nothing. */
export const COMPLETE = '"complete"';

const INVALID_PARAMS = -32602;
const RESOURCE_NOT_FOUND = -32002;
const INTERNAL_ERROR = -32603;
const MISSING_CAPABILITY = -32021;
/** The backend rejects the gateway's own framing of the request: header mismatch, unsupported version. */
const HEADER_MISMATCH = -32020;
const OF_FRAMING: ReadonlySet<unknown> = new Set([HEADER_MISMATCH, -32022]);

interface Asked {
  readonly method: string;
  /** JSON text of the client's id. */
  readonly idText: string;
  /** Whether the tool's output schema was wrapped into an object. */
  readonly isWrapped: boolean;
}

/**
 * Returns the body of the legacy answer without parsing it, if only `resultType` must go, as in most results. Undefined: it needs
 * `legacyAnswer`. Offsets are bytes.
 */
export function withoutResultType(body: Buffer, spans: Spans, isWrapped: boolean): Buffer | undefined {
  const { 'result.resultType': type, 'result.structuredContent': content, 'result._meta': meta } = spans;
  if (!type || body.toString('latin1', type.start, type.end) !== COMPLETE) return undefined;
  const hasMore = spans['result.ttlMs'] ?? spans['result.cacheScope'];
  const isOther = content !== undefined && (isWrapped || body[content.start] !== BRACE);
  const isBare = meta !== undefined && meta.end - meta.start === 2;
  return hasMore || isOther || isBare ? undefined : splice(body, [dropMember(body, type)]);
}

/** Translates a complete result or an error. `data` is the text of the decoded message. */
export function legacyAnswer(data: string, message: BackendMessage, asked: Asked): LegacyAnswer {
  const { spans, answerKind } = message;
  if (answerKind === 'error' || !spans.result) return legacyError(data, message, asked);
  const content = spans['result.structuredContent'];
  if (asked.method === 'tools/call' && content && (data[content.start] !== '{' || asked.isWrapped))
    return { text: withWrappedContent(data, message, content, asked), kind: answerKind };
  const edits = modernMembers(data, message, spans.result);
  if (spans.id && message.idText !== asked.idText) edits.push({ ...spans.id, text: asked.idText });
  return { text: spliceText(data, edits), kind: answerKind };
}

/** Returns the edits that remove what legacy results do not have. */
function modernMembers(data: string, { spans, meta }: BackendMessage, result: Span): Edit[] {
  const isBare = spans['result._meta'] !== undefined && isOfProtocol(meta);
  const first = spans['result.resultType'] ?? spans['result.ttlMs'] ?? spans['result.cacheScope'];
  if (!isBare && !first) return [];
  return dropMembers(data, result.start, (key) => MODERN_MEMBERS.has(key) || (isBare && key === '_meta'));
}

/** Reserved members of an event are removed later, those of a JSON answer are removed already. Nothing else may be left. */
const isOfProtocol = (meta: BackendMessage['meta']): boolean => meta.every(({ reserved }) => reserved);

/** Structured content of legacy revisions is an object. Clients that read only `content` get it as text. */
function withWrappedContent(data: string, { spans, meta }: BackendMessage, content: Span, { idText }: Asked): string {
  const structured = data.slice(content.start, content.end);
  const given = JSON.parse(data.slice(spans.result?.start, spans.result?.end)) as JsonObject;
  const blocks: unknown[] = Array.isArray(given.content) ? given.content : [];
  const hasText =
    isJsonObject(given.structuredContent) || blocks.some((block) => isJsonObject(block) && block.type === 'text');
  const all = hasText ? blocks : [...blocks, { type: 'text', text: structured }];
  const dropped = isOfProtocol(meta) ? WITHOUT_META : REPLACED;
  const members = JSON.stringify({ ...omit(given, dropped), content: all }).slice(0, -1);
  return `{"jsonrpc":"2.0","id":${idText},"result":${members},"structuredContent":{"result":${structured}}}}`;
}

/** Returns the text of a notification without the members of `_meta` that belong to the modern era. */
export function legacyNotification(data: string, message: BackendMessage): string {
  const { params } = message.spans;
  if (!message.hasReservedMeta || !params) return data;
  if (!isOfProtocol(message.meta)) return message.cleanText(data);
  return spliceText(
    data,
    dropMembers(data, params.start, (key) => key === '_meta'),
  );
}

/** Whether the backend refused the headers of a request, so that it executed nothing. */
export function isHeaderMismatch(data: string, message: BackendMessage): boolean {
  return message.answerKind === 'error' && errorOf(data, message)?.code === HEADER_MISMATCH;
}

function errorOf(data: string, { spans }: BackendMessage): JsonObject | undefined {
  const error: unknown = spans.error && JSON.parse(data.slice(spans.error.start, spans.error.end));
  return isJsonObject(error) ? error : undefined;
}

function legacyError(data: string, decoded: BackendMessage, asked: Asked): LegacyAnswer {
  const error = errorOf(data, decoded);
  const { code, message, data: details } = error ?? {};
  if (code === MISSING_CAPABILITY) return refusal(missingText(message, details), asked);
  if (OF_FRAMING.has(code))
    return errorAnswer({ code: INTERNAL_ERROR, message: 'The backend refused the request' }, asked);
  const isUnknown = code === INVALID_PARAMS && asked.method === 'resources/read' && hasUri(details);
  const own = error ?? { code: INTERNAL_ERROR, message: 'The backend gave no valid answer' };
  return errorAnswer(isUnknown ? { ...own, code: RESOURCE_NOT_FOUND } : own, asked);
}

const hasUri = (details: unknown): boolean => isJsonObject(details) && details.uri !== undefined;

function missingText(message: unknown, details: unknown): string {
  const required =
    isJsonObject(details) && isJsonObject(details.requiredCapabilities) ? details.requiredCapabilities : {};
  const names = Object.keys(required).join(', ');
  return names === '' ? String(message) : `${String(message)}: ${names}`;
}

/** A legacy server says in the result of a tool what it cannot do, so that the model reads it. */
export function refusal(text: string, asked: Pick<Asked, 'method' | 'idText'>): LegacyAnswer {
  if (asked.method !== 'tools/call') return errorAnswer({ code: INTERNAL_ERROR, message: text }, asked);
  const result = JSON.stringify({ content: [{ type: 'text', text }], isError: true });
  return { text: `{"jsonrpc":"2.0","id":${asked.idText},"result":${result}}`, kind: 'tool_error' };
}

function errorAnswer(error: JsonObject, { idText }: Pick<Asked, 'idText'>): LegacyAnswer {
  return { text: `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`, kind: 'error' };
}
