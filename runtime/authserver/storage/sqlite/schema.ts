import type { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '#runtime/errors';

/** Of the tables below; another number was written by another release. */
const SCHEMA_VERSION = 1;
/** "vmcp": tells the file from other databases. */
const APPLICATION_ID = 0x766d6370;

/** Milliseconds that a writer waits for another process's; each write takes far less than one. */
const BUSY_TIMEOUT_MS = 500;

// Times are milliseconds since the epoch; `row` is the row of rows.ts as JSON.
const TABLES = `
  CREATE TABLE plain (
    kind TEXT NOT NULL, id TEXT NOT NULL, row TEXT NOT NULL, ends_at REAL NOT NULL,
    PRIMARY KEY (kind, id)
  ) STRICT;
  CREATE INDEX plain_end ON plain (kind, ends_at);
  CREATE TABLE codes (
    id TEXT PRIMARY KEY, sub TEXT NOT NULL, row TEXT NOT NULL, session TEXT, ends_at REAL NOT NULL
  ) STRICT;
  CREATE INDEX codes_sub ON codes (sub, ends_at);
  CREATE INDEX codes_end ON codes (ends_at);
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY, sub TEXT NOT NULL, kid TEXT NOT NULL, row TEXT NOT NULL, ends_at REAL NOT NULL
  ) STRICT;
  CREATE INDEX sessions_sub ON sessions (sub, ends_at);
  CREATE INDEX sessions_end ON sessions (ends_at, kid);
  CREATE TABLE links (
    sub TEXT NOT NULL, provider TEXT NOT NULL, kid TEXT NOT NULL, version INTEGER NOT NULL, row TEXT NOT NULL,
    ends_at REAL NOT NULL, PRIMARY KEY (sub, provider)
  ) STRICT;
  CREATE INDEX links_end ON links (ends_at, kid);
  CREATE TABLE leases (id TEXT PRIMARY KEY, holder TEXT NOT NULL, ends_at REAL NOT NULL) WITHOUT ROWID, STRICT;
  CREATE INDEX leases_end ON leases (ends_at);
  CREATE TABLE counts (id TEXT PRIMARY KEY, counted INTEGER NOT NULL, ends_at REAL NOT NULL) WITHOUT ROWID, STRICT;
  CREATE INDEX counts_end ON counts (ends_at);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Makes an opened database ready for several processes at once, with its tables.
 * @throws ConfigError where another release made it
 */
export function prepareDatabase(database: DatabaseSync, file: string): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  // Readers and a writer do not wait for each other. What a crash of the machine loses of the last moment is as after a
  // failover: a process that dies loses nothing.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  database.exec('BEGIN IMMEDIATE');
  try {
    if (numberOf(database, 'SELECT count(*) FROM sqlite_schema') === 0) database.exec(TABLES);
    checkSchema(database, file);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function checkSchema(database: DatabaseSync, file: string): void {
  if (numberOf(database, 'PRAGMA application_id') !== APPLICATION_ID)
    throw new ConfigError(`${file}: it is a database of another program; name another file`);
  const version = numberOf(database, 'PRAGMA user_version');
  if (version === SCHEMA_VERSION) return;
  throw new ConfigError(
    `${file}: its schema has version ${version}, this release reads ${SCHEMA_VERSION}; ` +
      'use the release that made it, or move it away: then everybody logs in again',
  );
}

function numberOf(database: DatabaseSync, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
}
