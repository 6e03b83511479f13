import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { dropMember, dropMembers } from '#runtime/mcp/envelope/drop-members';
import { progressTokenOf } from '#runtime/mcp/envelope/progress-token';
import { scanEnvelope, type MetaMember, type Span, type Spans } from '#runtime/mcp/envelope/scan-envelope';
import { splice, type Edit } from '#runtime/mcp/envelope/splice';

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const PROGRESS_TOKEN = 'progressToken';

/** A request of a modern client, with the positions of its members. The client's request was checked before. */
export interface ModernMessage {
  readonly body: Buffer;
  /** The body as latin1, so that offsets are bytes. */
  readonly text: string;
  readonly spans: Spans;
  readonly meta: readonly MetaMember[];
  /** Canonical JSON text. */
  readonly progressToken: string | undefined;
  readonly logLevel: string | undefined;
}

export function readModernMessage(body: Buffer): ModernMessage {
  const { text, spans, meta } = scanEnvelope(body.toString('latin1'), true, true);
  return { body, text, spans, meta, progressToken: progressTokenOf({ spans }, body), logLevel: logLevelOf(body, meta) };
}

function logLevelOf(body: Buffer, meta: readonly MetaMember[]): string | undefined {
  const member = meta.find(({ key }) => key === LOG_LEVEL);
  if (!member) return undefined;
  const value: unknown = Object.values(JSON.parse(`{${body.toString('utf8', member.start, member.end)}}`) as object)[0];
  return typeof value === 'string' ? value : undefined;
}

/** Returns the value of a span. The body is valid JSON. */
export function valueAt(body: Buffer, span: Span | undefined): unknown {
  return span === undefined ? undefined : JSON.parse(body.toString('utf8', span.start, span.end));
}

export function objectAt(body: Buffer, span: Span | undefined): JsonObject {
  const value = valueAt(body, span);
  return isJsonObject(value) ? value : {};
}

/**
 * Returns the request for a legacy backend. `id` replaces the id and the progress token, as the session has other
 * clients' calls too. Members that only revision 2026-07-28 has are removed. `ttl`: milliseconds of the task that the
 * call asks for.
 */
export function toLegacyRequest({ body, text, spans, meta }: ModernMessage, id: string, ttl?: number): Buffer {
  const edits: Edit[] = [];
  if (spans.id) edits.push({ ...spans.id, text: id });
  const kept = meta.filter(({ key, reserved }) => !reserved && key !== PROGRESS_TOKEN);
  const hasToken = spans['params._meta.progressToken'] !== undefined;
  const isBare = kept.length === 0 && !hasToken;
  const span = spans['params._meta'];
  // Most requests have no other member to remove, and need no second walk.
  const isRetry = spans['params.inputResponses'] !== undefined || spans['params.requestState'] !== undefined;
  if (isRetry && spans.params) edits.push(...dropMembers(text, spans.params.start, (key) => isGone(key, isBare)));
  else if (span && isBare) edits.push(dropMember(body, span));
  if (span && !isBare) {
    const members = kept.map(({ start, end }) => body.toString('utf8', start, end));
    if (hasToken) members.push(`"${PROGRESS_TOKEN}":${id}`);
    edits.push({ ...span, text: `{${members.join()}}` });
  }
  return splice(body, [...edits, ...taskEdits(spans.params, ttl)]);
}

/** The params of a call have a name, so a comma comes first. */
function taskEdits(params: Span | undefined, ttl: number | undefined): Edit[] {
  if (ttl === undefined || !params) return [];
  const end = params.end - 1;
  return [{ start: end, end, text: `,"task":{"ttl":${ttl}}` }];
}

function isGone(key: string, isBare: boolean): boolean {
  return key === 'inputResponses' || key === 'requestState' || (key === '_meta' && isBare);
}
