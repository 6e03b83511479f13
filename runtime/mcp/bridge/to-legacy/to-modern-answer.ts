import type { AnswerKind } from '#runtime/mcp/envelope/decode-backend-message';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { dropMembers, isEmptyObject } from '#runtime/mcp/envelope/drop-members';
import { BRACKET, skipSpace, valueEnd, walkObject } from '#runtime/mcp/envelope/scan-json';
import { scanEnvelope, type Spans } from '#runtime/mcp/envelope/scan-envelope';
import { splice, type Edit } from '#runtime/mcp/envelope/splice';
import { objectAt, type ModernMessage } from './modern-message.ts';

export interface ModernAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly kind: AnswerKind;
}

/** The client's request that is answered. */
export interface Asked {
  readonly method: string;
  /** JSON text. */
  readonly idText: string;
  readonly message: ModernMessage;
}

export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
const METHOD_NOT_FOUND = -32601;
const RESOURCE_NOT_FOUND = -32002;
/** Revision 2026-07-28 reserves them for its own protocol errors, which a legacy backend cannot mean. */
const RESERVED = { least: -32022, most: -32020 };

/** Returns a legacy backend's response in the form of revision 2026-07-28. `known`: positions in the body. */
export function toModernAnswer(body: Buffer, kind: AnswerKind, asked: Asked, known?: Spans): ModernAnswer {
  const spans = known ?? scanEnvelope(body.toString('latin1'), true, false).spans;
  return spans.error ? modernError(objectAt(body, spans.error), asked) : modernResult(body, kind, spans, asked);
}

function modernResult(body: Buffer, kind: AnswerKind, spans: Spans, { method, idText }: Asked): ModernAnswer {
  const { id, result } = spans;
  if (!id || !result) return renderError(idText, { code: INTERNAL_ERROR, message: 'The backend gave no result' });
  const edits: Edit[] = [{ ...id, text: idText }];
  const added: string[] = [];
  const resultType = spans['result.resultType'];
  if (resultType) edits.push({ ...resultType, text: '"complete"' });
  else added.push('"resultType":"complete"');
  // The gateway itself sets both members of a list.
  if (method === 'resources/read') {
    if (!spans['result.ttlMs']) added.push('"ttlMs":0');
    if (!spans['result.cacheScope']) added.push('"cacheScope":"private"');
  }
  const at = result.start + 1;
  const members = added.join() + (isEmptyObject(body, result.start) || added.length === 0 ? '' : ',');
  edits.push({ start: at, end: at, text: members });
  if (method === 'tools/list') edits.push(...withoutExecution(body.toString('latin1'), result.start));
  return { status: 200, body: splice(body, edits), kind };
}

/** Revision 2026-07-28 has no `execution`, which declares tasks. */
function withoutExecution(text: string, result: number): Edit[] {
  const edits: Edit[] = [];
  walkObject(text, result, edits, (_edits, keyStart, keyEnd, start) => {
    if (text.slice(keyStart, keyEnd) !== 'tools' || text.charCodeAt(start) !== BRACKET) return valueEnd(text, start, 2);
    let at = skipSpace(text, start + 1);
    while (at < text.length && text[at] !== ']') {
      if (text[at] === '{') edits.push(...dropMembers(text, at, (key) => key === 'execution'));
      const end = valueEnd(text, at, 3);
      if (end < 0) return end;
      at = skipSpace(text, end);
      if (text[at] === ',') at = skipSpace(text, at + 1);
    }
    return at + 1;
  });
  return edits;
}

function modernError(error: JsonObject, { message, idText }: Asked): ModernAnswer {
  const { code } = error;
  if (code === RESOURCE_NOT_FOUND) {
    const { uri } = objectAt(message.body, message.spans.params);
    return renderError(idText, {
      ...error,
      code: INVALID_PARAMS,
      data: { uri, ...(isJsonObject(error.data) && error.data) },
    });
  }
  const isReserved = typeof code === 'number' && code >= RESERVED.least && code <= RESERVED.most;
  return renderError(idText, isReserved ? { ...error, code: INTERNAL_ERROR } : error);
}

export function renderError(idText: string, error: JsonObject): ModernAnswer {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`);
  return { status: error.code === METHOD_NOT_FOUND ? 404 : 200, body, kind: 'error' };
}
