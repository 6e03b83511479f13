import { checkRow, parseJson } from '../parse-row.ts';
import type { LinkRow, ActiveSession } from '../rows.ts';
import { StorageUnavailable } from '../storage.ts';

/** Length of the list with names and values of `gen`, `rotated_at` and `kid`. */
const CHANGED_BY_ROTATION = 6;

/** Returns the hash fields of a session: one JSON field for each member. Undefined members have no field. */
export function fieldsOf(row: object): string[] {
  return Object.entries(row).flatMap(([name, value]) => (value === undefined ? [] : [name, JSON.stringify(value)]));
}

/** Parses a session. Returns undefined for an empty hash, i.e. no session. @throws StorageUnavailable when it is malformed */
export function parseSession(fields: Readonly<Record<string, string>>): ActiveSession | undefined {
  const list = Object.entries(fields).flat();
  return list.length === 0 ? undefined : checkRow('session', parseFields(list));
}

/** Parses the answer of a rotation: the whole row, or the changes to the known row. @throws StorageUnavailable */
export function parseRotated(answer: unknown, known: ActiveSession | undefined): ActiveSession {
  const list = stringsOf(answer);
  const session = known && list.length === CHANGED_BY_ROTATION ? { ...known, ...parseFields(list) } : parseFields(list);
  return checkRow('session', session);
}

function parseFields(list: readonly string[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (let at = 0; at + 1 < list.length; at += 2) row[list[at] ?? ''] = parseJson(list[at + 1] ?? '');
  return row;
}

/** Serializes a link without its version, which Redis sets before the other members. */
export function linkJson(link: LinkRow): string {
  return JSON.stringify({ ...link, version: undefined });
}

/** Returns the answer of a script as a list. @throws StorageUnavailable for another type */
export function listOf(answer: unknown): unknown[] {
  if (!Array.isArray(answer)) throw new StorageUnavailable('Redis gave no list');
  return answer;
}

export function stringsOf(answer: unknown): string[] {
  return listOf(answer).map(String);
}
