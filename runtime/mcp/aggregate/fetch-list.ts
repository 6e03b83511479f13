import type { Answer } from '#runtime/mcp/backends/ask';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { BRACKET, skipSpace, valueEnd, walkObject } from '#runtime/mcp/envelope/scan-json';
import { LIST_SPECS, type ListKind } from './list-kinds.ts';

export interface ListedEntry {
  /** Name, URI or URI template, as the backend spells it. */
  readonly name: string;
  readonly text: string;
  readonly annotations: Readonly<Record<string, string | boolean>> | undefined;
  /** The backend's own URI of an app, if clients see another one. */
  readonly ownUri?: string;
}

export interface BackendList {
  readonly entries: readonly ListedEntry[];
  /** Milliseconds, as declared by the backend. */
  readonly ttlMs: number | undefined;
  /** Declared by the backend: callers may share the list. */
  readonly isPublic: boolean;
}

const MAX_PAGES = 100;
const MAX_ENTRIES = 10_000;
/** Characters of all pages together. */
const MAX_LENGTH = 33_554_432;
const COMMA = 0x2c;
const METHOD_NOT_FOUND = -32601;

/** `ask` takes the JSON text of the params' members. @throws NoAnswer; Error on an error answer, or if the pages never end */
export async function fetchList(
  kind: ListKind,
  ask: (cursor: string | undefined) => Promise<Answer>,
): Promise<BackendList> {
  const entries: ListedEntry[] = [];
  let cursor: string | undefined;
  let ttlMs: number | undefined;
  let isPublic = true;
  let length = 0;
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await ask(cursor);
    const result = resultOf(answer);
    entries.push(...readEntries(kind, answer));
    length += answer.text.length;
    checkSize(length, entries.length);
    if (typeof result.ttlMs === 'number') ttlMs = Math.min(ttlMs ?? Infinity, result.ttlMs);
    isPublic &&= result.cacheScope === 'public';
    cursor = typeof result.nextCursor === 'string' && result.nextCursor !== '' ? result.nextCursor : undefined;
    if (cursor === undefined) return { entries, ttlMs, isPublic };
  }
  throw new Error(`the list has more than ${MAX_PAGES} pages`);
}

/** A server without such a list answers "method not found", whatever it declares. That counts as empty. */
function resultOf({ result, error }: Answer): JsonObject {
  if (error?.code === METHOD_NOT_FOUND) return {};
  if (!result) throw new Error(`the list was refused with error ${error?.code ?? 'unknown'}`);
  return result;
}

function checkSize(length: number, entries: number): void {
  if (length > MAX_LENGTH) throw new Error(`the list is longer than ${MAX_LENGTH} characters`);
  if (entries > MAX_ENTRIES) throw new Error(`the list has more than ${MAX_ENTRIES} entries`);
}

function readEntries(kind: ListKind, answer: Answer): ListedEntry[] {
  const { member, key } = LIST_SPECS[kind];
  const listed = answer.result?.[member];
  if (!Array.isArray(listed)) return [];
  const texts = elementTexts(answer.text, member);
  return listed.flatMap((value: unknown, index): ListedEntry[] => {
    const text = texts[index];
    if (!isJsonObject(value) || text === undefined) return [];
    const name = value[key];
    return typeof name === 'string' && name !== '' ? [{ name, text, annotations: readHints(value.annotations) }] : [];
  });
}

function readHints(annotations: unknown): Record<string, string | boolean> | undefined {
  if (!isJsonObject(annotations)) return undefined;
  const hints = Object.entries(annotations).filter(
    (hint): hint is [string, string | boolean] => typeof hint[1] === 'boolean' || typeof hint[1] === 'string',
  );
  return hints.length === 0 ? undefined : Object.fromEntries(hints);
}

/** Elements of `result[member]`, verbatim: parsing and serialising would change numbers and order. */
function elementTexts(text: string, member: string): string[] {
  const found: string[] = [];
  walkObject(text, skipSpace(text, 0), member, (_context, keyStart, keyEnd, start) => {
    if (text.slice(keyStart, keyEnd) !== 'result') return valueEnd(text, start, 1);
    return walkObject(text, start, member, (_inner, innerStart, innerEnd, at) => {
      if (text.slice(innerStart, innerEnd) !== member || text.charCodeAt(at) !== BRACKET) return valueEnd(text, at, 2);
      return readElements(text, at, found);
    });
  });
  return found;
}

function readElements(text: string, open: number, found: string[]): number {
  let at = skipSpace(text, open + 1);
  while (at < text.length && text.charCodeAt(at) !== 0x5d) {
    const end = valueEnd(text, at, 3);
    if (end < 0) return end;
    found.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return at + 1;
}
