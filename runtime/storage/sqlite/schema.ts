import type { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '#runtime/errors';

export interface DatabaseSchema {
  readonly tables: string;
  /** Version of the tables. Another release wrote a file with another version. */
  readonly version: number;
  /** Distinguishes the file from databases of other programs and of other parts of this program. */
  readonly applicationId: number;
  /** Milliseconds that a writer waits for another process; each write takes far less than one. The wait blocks the process. */
  readonly busyTimeout: number;
  readonly sweeps: readonly string[];
  readonly loss: string;
}

/** Prepares an opened database for several processes and creates its tables. @throws ConfigError if another release created it */
export function prepareDatabase(database: DatabaseSync, file: string, schema: DatabaseSchema): void {
  database.exec(`PRAGMA busy_timeout = ${schema.busyTimeout}`);
  // Readers and a writer do not block each other. A crash of the machine, not of the process, may lose the last writes, like a failover.
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
