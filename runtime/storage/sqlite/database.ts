import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '#runtime/errors';
import { StorageUnavailable } from '../storage-unavailable.ts';
import { prepareDatabase, type DatabaseSchema } from './schema.ts';

const SWEEP_INTERVAL_MS = 1_000;
const OPEN_PAUSE_MS = 50;

type Row = Record<string, SQLOutputValue>;

/** An open database file with its statements. A failed step has no effect and becomes StorageUnavailable. */
export class SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #now: () => number;
  readonly #sweeps: readonly string[];
  readonly #statements = new Map<string, StatementSync>();
  #sweptAt = 0;

  constructor(database: DatabaseSync, { sweeps }: Pick<DatabaseSchema, 'sweeps'>, now: () => number) {
    this.#database = database;
    this.#sweeps = sweeps;
    this.#now = now;
  }

  read<Answer>(step: (now: number) => Answer): Promise<Answer> {
    try {
      return Promise.resolve(step(this.#now()));
    } catch (cause) {
      return Promise.reject(unavailable(cause));
    }
  }

  /** Runs one transaction. Transactions of all processes run one after the other. */
  write<Answer>(step: (now: number) => Answer): Promise<Answer> {
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      try {
        const now = this.#now();
        this.#sweep(now);
        const answer = step(now);
        this.#database.exec('COMMIT');
        return Promise.resolve(answer);
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
        throw error;
      }
    } catch (cause) {
      return Promise.reject(unavailable(cause));
    }
  }

  /** Runs a statement. @returns the number of changed rows */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  row(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values);
  }

  rows(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values);
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** Deletes expired rows during other work, as no process owns the file. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_INTERVAL_MS) return;
    this.#sweptAt = now;
    for (const sql of this.#sweeps) this.run(sql, now);
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

function unavailable(cause: unknown): StorageUnavailable {
  return new StorageUnavailable('the database file cannot be used', { cause });
}

/** Only its owner can read the file and a created folder. @throws ConfigError if unusable, or if another release or program created it */
export async function openDatabase(
  file: string,
  schema: DatabaseSchema,
  { now, attempts = 40 }: { readonly now: () => number; readonly attempts?: number },
): Promise<SqliteDatabase> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return new SqliteDatabase(openPrepared(file, schema), schema, now);
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      // Another process is creating the tables.
      if (!isBusy(error) || attempt >= attempts)
        throw new ConfigError(`${file}: ${problemOf(error, schema)}`, { cause: error });
      await sleep(OPEN_PAUSE_MS);
    }
  }
}

function openPrepared(file: string, schema: DatabaseSchema): DatabaseSync {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  // SQLite gives its other files the mode of this file.
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
  const database = new DatabaseSync(file);
  try {
    prepareDatabase(database, file, schema);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

// https://www.sqlite.org/rescode.html: SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_NOTADB; the low byte of extended codes.
const resultCode = (error: unknown): number =>
  typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
const isBusy = (error: unknown) => resultCode(error) === 5;

function problemOf(error: unknown, { loss }: DatabaseSchema): string {
  const code = resultCode(error);
  if (code === 11 || code === 26) return `it is damaged, or no database; move it away: then ${loss}`;
  return error instanceof Error ? error.message : String(error);
}
