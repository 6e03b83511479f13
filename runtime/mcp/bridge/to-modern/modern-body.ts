import type { BackendCall } from '#runtime/mcp/backends/backend';
import { modernHeaders } from '#runtime/mcp/backends/probe';
import { decodeRequest, type DecodedRequest } from '#runtime/mcp/envelope/decode-request';
import { splice, type Edit } from '#runtime/mcp/envelope/splice';
import { omit } from '../omit.ts';
import { encodeHeaderValue } from '../../modern/header-value.ts';

/** A legacy client's request, with what the modern request is made of. */
export interface LegacyMessage {
  readonly body: Buffer;
  readonly message: DecodedRequest;
}

/** Members of params that mean something else, or nothing, in the modern era. */
const FOREIGN = ['inputResponses', 'requestState', 'task'] as const;

/** Headers of the session, and those that each modern request has of its own. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['mcp-session-id', 'mcp-protocol-version', 'last-event-id']);

/** @throws RequestError if the body is no request */
export function readLegacy(body: Buffer): LegacyMessage {
  const message = decodeRequest(body);
  if (message.kind !== 'request') throw new TypeError('not a request');
  for (const name of FOREIGN) if (message.spans[`params.${name}`]) return readLegacy(without(message));
  return { body, message };
}

function without({ idText, method, params = {} }: DecodedRequest): Buffer {
  const kept = JSON.stringify(omit(params, new Set(FOREIGN)));
  return Buffer.from(`{"jsonrpc":"2.0","id":${idText},"method":${JSON.stringify(method)},"params":${kept}}`);
}

/**
 * Returns the body of the modern request. `meta`: JSON text of members for `_meta`. `more`: JSON text of members for params, each with a
 * comma at its end. `idText`: replaces the id.
 */
export function modernBody({ body, message }: LegacyMessage, meta: string, more = '', idText?: string): Buffer {
  const { spans, params } = message;
  const edits: Edit[] = [];
  if (idText !== undefined && spans.id) edits.push({ ...spans.id, text: idText });
  if (!spans.params) {
    const brace = body.lastIndexOf('}');
    edits.push({ start: brace, end: brace, text: `,"params":{${more}"_meta":{${meta}}}` });
    return splice(body, edits);
  }
  const start = spans.params.start + 1;
  const span = spans['params._meta'];
  if (span) {
    edits.push({ ...span, text: `{${[meta, ...ownMeta(body, message)].join(',')}}` });
    if (more !== '') edits.push({ start, end: start, text: more });
  } else {
    const comma = Object.keys(params ?? {}).length > 0 ? ',' : '';
    edits.push({ start, end: start, text: `${more}"_meta":{${meta}}${comma}` });
  }
  return splice(body, edits);
}

/** The client's own members of `_meta`. A legacy client may not set reserved ones. */
function ownMeta(body: Buffer, { meta }: DecodedRequest): string[] {
  return meta.filter(({ reserved }) => !reserved).map(({ start, end }) => body.toString('utf8', start, end));
}

/** `params`: Mcp-Param headers. */
export function modernHeadersFor(
  { headers }: BackendCall,
  { method, params }: DecodedRequest,
  more: readonly string[],
): string[] {
  const name = method === 'resources/read' ? params?.uri : params?.name;
  const sent = modernHeaders(method);
  if (typeof name === 'string') sent.push('mcp-name', encodeHeaderValue(name));
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [header = '', value = ''] = headers.slice(at, at + 2);
    if (!OWN_HEADERS.has(header)) sent.push(header, value);
  }
  return sent.concat(more);
}
