import { createHash } from 'node:crypto';
import { Problem } from '../problem.ts';

export interface StoredRecord {
  name: string;
  /** Parsed; the owner of the kind validates it. */
  value: unknown;
  /** Changes with each write. */
  version: string;
}

/**
 * Files of the state folder, or ConfigMaps. Writes are atomic, also after a crash and among processes. Every method may
 * throw Problem `bad_request` (an invalid name), `too_large`, `store_damaged`, `unavailable`.
 */
export interface RecordStore {
  list(): Promise<StoredRecord[]>;
  /** Returns sorted names; a cluster sends no documents for it. */
  names(): Promise<string[]>;
  get(name: string): Promise<StoredRecord | undefined>;
  /** Returns the version. @throws Problem `already_exists` */
  create(name: string, value: unknown): Promise<string>;
  /** Returns the new version. @throws Problem `stale` when the version differs or the record was deleted */
  replace(name: string, value: unknown, version: string): Promise<string>;
  /** Returns whether it existed. With a version: deletes only that one. @throws Problem `stale` */
  delete(name: string, version?: string): Promise<boolean>;
}

export type RecordKind =
  'clients' | 'registries' | 'registrycopies' | 'skills' | 'skillchanges' | 'operations' | 'secretproviders';

export type Records = (kind: RecordKind) => RecordStore;

export const MOST_RECORDS = 10_000;
/** Bytes as JSON, because of the size limit of a ConfigMap. */
const LONGEST_RECORD = 900_000;
const LONGEST_NAME = 253;

/**
 * Returns the name if valid for a file or object, else its hash, so it cannot refer to another file. Case matters.
 * @throws Problem `bad_request`
 */
export function keyOf(name: string): string {
  if (name.length === 0 || name.length > LONGEST_NAME || /[\u0000-\u001f\u007f]/.test(name))
    throw new Problem('bad_request', `a name has 1 to ${LONGEST_NAME} characters, none of them a control character`);
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name) && !name.startsWith('x-')) return name;
  return `x-${createHash('sha256').update(name).digest('hex').slice(0, 40)}`;
}

/** @throws Problem `too_large` */
export function textOf(name: string, value: unknown): string {
  const text = JSON.stringify(value);
  const bytes = Buffer.byteLength(text);
  if (bytes <= LONGEST_RECORD) return text;
  throw new Problem('too_large', `"${name}" has ${bytes} bytes; at most ${LONGEST_RECORD} can be stored`);
}

export function alreadyExists(name: string): Problem {
  return new Problem('already_exists', `"${name}" is there already`);
}

export function stale(name: string): Problem {
  return new Problem('stale', `"${name}" has changed or gone since it was read: read it again`);
}

export const isStale = (problem: unknown): boolean => problem instanceof Problem && problem.code === 'stale';

export function tooMany(): Problem {
  return new Problem('too_large', `there are ${MOST_RECORDS} records already: delete some first`);
}
