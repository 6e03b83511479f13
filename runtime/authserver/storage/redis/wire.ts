import { checkRow, parseJson } from '../parse-row.ts';
import type { LinkRow, LiveSession } from '../rows.ts';
import { StorageUnavailable } from '../storage.ts';

/** A session is a hash: each member of its row is a field with JSON. Members that are not there have no field. */
export function fieldsOf(row: object): string[] {
  return Object.entries(row).flatMap(([name, value]) => (value === undefined ? [] : [name, JSON.stringify(value)]));
}

/** Undefined: there are no fields, so there is no such session. @throws StorageUnavailable where it is malformed */
export function parseSession(fields: readonly (readonly [name: string, json: string])[]): LiveSession | undefined {
  if (fields.length === 0) return undefined;
  return checkRow('session', Object.fromEntries(fields.map(([name, json]) => [name, parseJson(json)])));
}

/** A script gives a hash as a list of names and values. */
export function pairsOf(answer: unknown): [name: string, json: string][] {
  const list = stringsOf(answer);
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index] ?? '', list[2 * index + 1] ?? '']);
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
