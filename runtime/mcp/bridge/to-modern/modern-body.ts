import type { BackendCall } from '#runtime/mcp/backends/backend';
import { modernHeaders } from '#runtime/mcp/backends/probe';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { isEmptyObject } from '#runtime/mcp/envelope/drop-members';
import { scanEnvelope, type Envelope, type Span } from '#runtime/mcp/envelope/scan-envelope';
import { splice, type Edit } from '#runtime/mcp/envelope/splice';
import { omit } from '../omit.ts';
import { encodeHeaderValue } from '../../modern/header-value.ts';

/** Members of params that mean something else, or nothing, in the modern era. */
const FOREIGN = ['inputResponses', 'requestState', 'task'] as const;

/** Headers of the session, and those that each modern request has of its own. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['mcp-session-id', 'mcp-protocol-version', 'last-event-id']);

/** A legacy client's request. Only the values that the bridge needs are parsed. */
export class LegacyMessage {
  readonly body: Buffer;
  readonly method: string;
  /** JSON text. */
  readonly idText: string;
  /** Offsets are bytes. */
  readonly envelope: Envelope;
  /** Whether the client asks for a task of 2025-11-25. */
  readonly wantsTask: boolean;
  /** Name of the tool or prompt, or URI of the resource. */
  readonly target: string | undefined;

  /** `body`: a request that the gateway has decoded. */
  constructor({ method, idText = 'null' }: BackendCall, body: Buffer) {
    this.method = method;
    this.idText = idText;
    const envelope = scanEnvelope(body.toString('latin1'), true, false);
    this.wantsTask = envelope.spans['params.task'] !== undefined;
    const isForeign = FOREIGN.some((name) => envelope.spans[`params.${name}`] !== undefined);
    this.body = isForeign ? this.#withoutForeign(body, envelope.spans.params) : body;
    this.envelope = isForeign ? scanEnvelope(this.body.toString('latin1'), true, false) : envelope;
    const { spans } = this.envelope;
    const target = this.#valueAt(method.startsWith('resources/') ? spans['params.uri'] : spans['params.name']);
    this.target = typeof target === 'string' ? target : undefined;
  }

  /** JSON text. */
  get progressToken(): string | undefined {
    const span = this.envelope.spans['params._meta.progressToken'];
    return span && this.body.toString('utf8', span.start, span.end);
  }

  get givenArguments(): unknown {
    return this.#valueAt(this.envelope.spans['params.arguments']);
  }

  #valueAt(span: Span | undefined): unknown {
    return span && (JSON.parse(this.body.toString('utf8', span.start, span.end)) as unknown);
  }

  #withoutForeign(body: Buffer, params: Span | undefined): Buffer {
    const given = params && (JSON.parse(body.toString('utf8', params.start, params.end)) as JsonObject);
    const kept = JSON.stringify(omit(isJsonObject(given) ? given : {}, new Set(FOREIGN)));
    return Buffer.from(
      `{"jsonrpc":"2.0","id":${this.idText},"method":${JSON.stringify(this.method)},"params":${kept}}`,
    );
  }
}

/**
 * Returns the body of the modern request. `meta`: JSON text of members for `_meta`. `more`: JSON text of members for params, each with a
 * comma at its end. `idText`: replaces the id.
 */
export function modernBody({ body, envelope }: LegacyMessage, meta: string, more = '', idText?: string): Buffer {
  const { spans } = envelope;
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
    edits.push({ ...span, text: `{${[meta, ...ownMeta(body, envelope)].join(',')}}` });
    if (more !== '') edits.push({ start, end: start, text: more });
  } else {
    const comma = isEmptyObject(body, spans.params.start) ? '' : ',';
    edits.push({ start, end: start, text: `${more}"_meta":{${meta}}${comma}` });
  }
  return splice(body, edits);
}

/** The client's own members of `_meta`. A legacy client may not set reserved ones. */
function ownMeta(body: Buffer, { meta }: Envelope): string[] {
  return meta.filter(({ reserved }) => !reserved).map(({ start, end }) => body.toString('utf8', start, end));
}

/** `target`: see `LegacyMessage`. `more`: Mcp-Param headers. */
export function modernHeadersFor(
  { method, headers }: BackendCall,
  target: string | undefined,
  more: readonly string[],
): string[] {
  const sent = modernHeaders(method);
  if (target !== undefined) sent.push('mcp-name', encodeHeaderValue(target));
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [header = '', value = ''] = [headers[at], headers[at + 1]];
    if (!OWN_HEADERS.has(header)) sent.push(header, value);
  }
  return more.length === 0 ? sent : sent.concat(more);
}
