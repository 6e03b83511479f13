import { checkRow, parseJson } from '../parse-row.ts';
import type { LinkRow, LiveSession } from '../rows.ts';
import { StorageUnavailable } from '../storage.ts';

/** Names and values of `gen`, `rotated_at` and `kid`. */
const CHANGED_BY_ROTATION = 6;

/** A session is a hash: each member of its row is a field with JSON. Members that are not there have no field. */
export function fieldsOf(row: object): string[] {
  return Object.entries(row).flatMap(([name, value]) => (value === undefined ? [] : [name, JSON.stringify(value)]));
}

/** Undefined: there are no fields, so there is no such session. @throws StorageUnavailable where it is malformed */
export function parseSession(fields: Readonly<Record<string, string>>): LiveSession | undefined {
  const list = Object.entries(fields).flat();
  return list.length === 0 ? undefined : checkRow('session', parseFields(list));
}

/** What a rotation gives: the whole row, or what it changed of the one that is known. @throws StorageUnavailable */
export function parseRotated(answer: unknown, known: LiveSession | undefined): LiveSession {
  const list = stringsOf(answer);
  const session = known && list.length === CHANGED_BY_ROTATION ? { ...known, ...parseFields(list) } : parseFields(list);
  return checkRow('session', session);
}

/** A script gives a hash as a list of names and values. */
function parseFields(list: readonly string[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (let at = 0; at + 1 < list.length; at += 2) row[list[at] ?? ''] = parseJson(list[at + 1] ?? '');
  return row;
}

/** The version is set in Redis, in front of the other members. */
export function linkJson(link: LinkRow): string {
  return JSON.stringify({ ...link, version: undefined });
}

/** @throws StorageUnavailable where a script gave something else */
export function listOf(answer: unknown): unknown[] {
  if (!Array.isArray(answer)) throw new StorageUnavailable('Redis gave no list');
  return answer;
}

export function stringsOf(answer: unknown): string[] {
  return listOf(answer).map(String);
}
