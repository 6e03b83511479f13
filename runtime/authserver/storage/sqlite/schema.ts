import type { DatabaseSchema } from '#runtime/storage/sqlite/schema';

/** Maximum rows per table in a sweep, so that each statement is short. */
const SWEEP_ROWS = 500;

// Times are milliseconds since the epoch. `row` is the row of rows.ts as JSON.
const tables = `
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
`;

const sweeps = [
  `DELETE FROM plain WHERE (kind, id) IN (
     SELECT kind, id FROM plain WHERE kind IN ('client', 'login', 'browser', 'ticket', 'assertion', 'slot', 'revocation') AND ends_at <= ? LIMIT ${SWEEP_ROWS})`,
  `DELETE FROM links WHERE (sub, provider) IN (SELECT sub, provider FROM links WHERE ends_at <= ? LIMIT ${SWEEP_ROWS})`,
  ...['codes', 'sessions', 'leases', 'counts'].map(
    (table) => `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE ends_at <= ? LIMIT ${SWEEP_ROWS})`,
  ),
];

export const LOGINS: DatabaseSchema = {
  tables,
  sweeps,
  version: 1,
  // "vmcp"
  applicationId: 0x766d6370,
  busyTimeout: 500,
  loss: 'everybody logs in again',
};
