import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { decodeKey, isPlainKey, MALFORMED, skipSpace, valueEnd, walkObject } from '#runtime/mcp/envelope/scan-json';
import { spliceText, type Edit } from '#runtime/mcp/envelope/splice';

/** Absent members stay as the backend wrote them. */
export interface EntryChanges {
  readonly name?: string;
  readonly description?: string;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly execution?: JsonObject;
  readonly meta?: JsonObject;
}

/** The decoder already checked the depth. */
const NO_DEPTH = 0;

interface Member {
  readonly start: number;
  readonly end: number;
}

/** Undefined if a key is duplicated, because parsers may interpret it differently. */
function findMembers(text: string): Map<string, Member> | undefined {
  const members = new Map<string, Member>();
  const end = walkObject(text, skipSpace(text, 0), members, (found, keyStart, keyEnd, start) => {
    const raw = text.slice(keyStart, keyEnd);
    const key = isPlainKey(raw) ? raw : decodeKey(raw, false);
    const after = valueEnd(text, start, NO_DEPTH);
    if (key === undefined || after < 0 || found.has(key)) return MALFORMED;
    found.set(key, { start, end: after });
    return after;
  });
  return end < 0 ? undefined : members;
}

function mergeAnnotations(text: string, hints: Readonly<Record<string, unknown>>): JsonObject {
  const before: unknown = JSON.parse(text);
  return { ...(isJsonObject(before) ? before : {}), ...hints };
}

/** Schemas, `_meta`, order and spelling of numbers stay as the backend wrote them. */
export function rewriteEntry(text: string, changes: EntryChanges): string {
  const members = findMembers(text);
  // Parsing and serialising leaves each key once.
  if (!members) return rewriteEntry(JSON.stringify(JSON.parse(text)), changes);
  const edits: Edit[] = [];
  const added: string[] = [];
  const put = (key: string, value: unknown) => {
    const member = members.get(key);
    if (member) edits.push({ ...member, text: JSON.stringify(value) });
    else added.push(`,${JSON.stringify(key)}:${JSON.stringify(value)}`);
  };
  if (changes.name !== undefined) put('name', changes.name);
  if (changes.description !== undefined) put('description', changes.description);
  if (changes.execution !== undefined) put('execution', changes.execution);
  if (changes.meta !== undefined) put('_meta', changes.meta);
  if (changes.annotations !== undefined) {
    const { start, end } = members.get('annotations') ?? { start: 0, end: 0 };
    put('annotations', mergeAnnotations(text.slice(start, end) || '{}', changes.annotations));
  }
  if (added.length > 0) {
    // Every entry has a name, so a member precedes the closing brace.
    const brace = text.lastIndexOf('}');
    edits.push({ start: brace, end: brace, text: added.join('') });
  }
  return spliceText(text, edits);
}
