import type { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '#runtime/errors';

/** What a database file holds, and who made it. */
export interface DatabaseSchema {
  /** Statements that make the tables. */
  readonly tables: string;
  /** Of the tables; another number was written by another release. */
  readonly version: number;
  /** Tells the file from databases of other programs, and of other parts of this one. */
  readonly applicationId: number;
  /** Milliseconds that a writer waits for another process's; each write takes far less than one. The process does nothing else meanwhile. */
  readonly busyTimeout: number;
  /** Statements that delete what is over; each has the time as its parameter. */
  readonly sweeps: readonly string[];
  /** What follows where the file is moved away. */
  readonly loss: string;
}

/**
 * Makes an opened database ready for several processes at once, with its tables.
 * @throws ConfigError where another release made it
 */
export function prepareDatabase(database: DatabaseSync, file: string, schema: DatabaseSchema): void {
  database.exec(`PRAGMA busy_timeout = ${schema.busyTimeout}`);
  // Readers and a writer do not wait for each other. What a crash of the machine loses of the last moment is as after a
  // failover: a process that dies loses nothing.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  database.exec('BEGIN IMMEDIATE');
  try {
    if (numberOf(database, 'SELECT count(*) FROM sqlite_schema') === 0) makeTables(database, schema);
    checkSchema(database, file, schema);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function makeTables(database: DatabaseSync, { tables, applicationId, version }: DatabaseSchema): void {
  database.exec(`${tables} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version};`);
}

function checkSchema(database: DatabaseSync, file: string, schema: DatabaseSchema): void {
  if (numberOf(database, 'PRAGMA application_id') !== schema.applicationId)
    throw new ConfigError(`${file}: it is a database of another program; name another file`);
  const version = numberOf(database, 'PRAGMA user_version');
  if (version === schema.version) return;
  throw new ConfigError(
    `${file}: its schema has version ${version}, this release reads ${schema.version}; ` +
      `use the release that made it, or move it away: then ${schema.loss}`,
  );
}

function numberOf(database: DatabaseSync, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
}
