import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf, flushFolder, isUnfinished, readIfThere, replaceFile } from '#lib/files/write-file';
import { FileLock } from '#lib/files/file-lock';
import { Problem } from '../problem.ts';
import { withFileProblems } from './problem-of-file.ts';
import {
  alreadyExists,
  keyOf,
  MOST_RECORDS,
  type Records,
  type RecordStore,
  stale,
  type StoredRecord,
  textOf,
  tooMany,
} from './record-store.ts';

/** Contains the record's name, because the file name may be a hash of it. */
const Stored = z.strictObject({ name: z.string(), version: z.string(), value: z.unknown() });

const SUFFIX = '.json';

/** Uses a folder per kind and a file per record, written under the folder's lock. */
class FileRecords implements RecordStore {
  readonly #folder: string;
  readonly #lock: FileLock;

  constructor(folder: string) {
    this.#folder = folder;
    this.#lock = new FileLock(join(folder, '.lock'));
  }

  list(): Promise<StoredRecord[]> {
    return withFileProblems(() => {
      const records = this.#names().flatMap((file) => this.#read(join(this.#folder, file)) ?? []);
      return records.sort((a, b) => (a.name < b.name ? -1 : 1));
    });
  }

  async names(): Promise<string[]> {
    return (await this.list()).map(({ name }) => name);
  }

  get(name: string): Promise<StoredRecord | undefined> {
    return withFileProblems(() => this.#read(this.#fileOf(name)));
  }

  create(name: string, value: unknown): Promise<string> {
    return this.#alone(name, (file, live) => {
      if (live) throw alreadyExists(name);
      if (this.#names().length >= MOST_RECORDS) throw tooMany();
      return this.#write(file, name, value);
    });
  }

  replace(name: string, value: unknown, version: string): Promise<string> {
    return this.#alone(name, (file, live) => {
      if (live?.version !== version) throw stale(name);
      return this.#write(file, name, value);
    });
  }

  delete(name: string, version?: string): Promise<boolean> {
    return this.#alone(name, (file, live) => {
      if (version !== undefined && live?.version !== version) throw stale(name);
      if (!live) return false;
      rmSync(file);
      flushFolder(this.#folder);
      return true;
    });
  }

  #fileOf(name: string): string {
    return join(this.#folder, `${keyOf(name)}${SUFFIX}`);
  }

  #alone<T>(name: string, work: (file: string, live: StoredRecord | undefined) => T): Promise<T> {
    return withFileProblems(() => {
      const file = this.#fileOf(name);
      return this.#lock.run(() => work(file, this.#read(file)));
    });
  }

  #write(file: string, name: string, value: unknown): string {
    const text = textOf(name, value);
    this.#removeUnfinished();
    const version = randomBytes(12).toString('base64url');
    replaceFile(file, `{"name":${JSON.stringify(name)},"version":"${version}","value":${text}}\n`);
    return version;
  }

  /** Under the lock, unfinished files can only belong to killed processes. */
  #removeUnfinished(): void {
    for (const file of entriesOf(this.#folder)) if (isUnfinished(file)) rmSync(join(this.#folder, file));
  }

  #names(): string[] {
    return entriesOf(this.#folder).filter((file) => file.endsWith(SUFFIX));
  }

  #read(file: string): StoredRecord | undefined {
    const text = readIfThere(file);
    if (text === undefined) return undefined;
    try {
      return Stored.parse(JSON.parse(text));
    } catch (cause) {
      const remedy = 'restore it from a backup, or remove it';
      throw new Problem('store_damaged', `${file} is no record as vmcp writes it: ${remedy}`, { cause });
    }
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (problem) {
    if (codeOf(problem) === 'ENOENT') return [];
    throw problem;
  }
}

/** `folder` is `records` of the state folder. One instance per process. */
export function fileRecords(folder: string, namespace: string): Records {
  const stores = new Map<string, FileRecords>();
  return (kind) => {
    const known = stores.get(kind) ?? new FileRecords(join(folder, keyOf(namespace), kind));
    stores.set(kind, known);
    return known;
  };
}
