import { createHash } from 'node:crypto';
import { Problem } from '../problem.ts';

/** A document as it is stored. */
export interface StoredRecord {
  name: string;
  /** Parsed and checked by whoever owns the kind. */
  value: unknown;
  /** Changes with each write. */
  version: string;
}

/**
 * Documents of one kind in one namespace, by name: clients, registries, skills, operations. Two of them: files of the state
 * folder, and ConfigMaps. Writes are whole or not at all, also when the process is killed, and from several processes.
 * Every call may throw Problem `bad_request` (a name that cannot be one), `too_large`, `store_damaged`, `unavailable`.
 */
export interface RecordStore {
  /** By name. */
  list(): Promise<StoredRecord[]>;
  /** Names alone, by name; a cluster sends no document for it. */
  names(): Promise<string[]>;
  get(name: string): Promise<StoredRecord | undefined>;
  /** Makes it; throws Problem `already_exists`. Gives its version. */
  create(name: string, value: unknown): Promise<string>;
  /** Replaces what has this version; throws Problem `stale` when it is another by now, or gone. Gives the new version. */
  replace(name: string, value: unknown, version: string): Promise<string>;
  /** Whether it was there. With a version: only that one, else Problem `stale`. */
  delete(name: string, version?: string): Promise<boolean>;
}

/** Kinds of documents that the management API keeps. */
export type RecordKind =
  'clients' | 'registries' | 'registrycopies' | 'skills' | 'skillchanges' | 'operations' | 'secretproviders';

/** The stores of one namespace. */
export type Records = (kind: RecordKind) => RecordStore;

/** Documents of one kind and namespace. */
export const MOST_RECORDS = 10_000;
/** Bytes of one document as JSON: what a ConfigMap has room for. */
const LONGEST_RECORD = 900_000;
const LONGEST_NAME = 253;

/**
 * Part of a file name or of an object's name that stands for a record's name: itself where that is one already, else its hash.
 * So a name can be any text (`io.github.x/y`, `../../operator`) and means no other file. Names that differ in case only differ.
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
