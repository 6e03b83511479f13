import type { DatabaseSchema } from '#runtime/storage/sqlite/schema';

/** No sweep may take long. */
const SWEEP_ROWS = 500;

// Times: milliseconds since the epoch. An ended session keeps its row until `ends_at`, so that it does not count as lost.
const tables = `
  CREATE TABLE mcp_sessions (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, counted_for TEXT NOT NULL, used REAL NOT NULL, ended INTEGER NOT NULL,
    ends_at REAL NOT NULL
  ) STRICT;
  CREATE INDEX mcp_sessions_used ON mcp_sessions (counted_for, ended, used);
  CREATE INDEX mcp_sessions_end ON mcp_sessions (ended, ends_at);
  CREATE TABLE mcp_session_fields (
    key TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key, field)
  ) WITHOUT ROWID, STRICT;
`;

export const SESSIONS: DatabaseSchema = {
  tables,
  version: 1,
  // "vmcs"
  applicationId: 0x766d6373,
  // While the file cannot be written, sessions continue and are written later.
  busyTimeout: 20,
  sweeps: [
    `DELETE FROM mcp_sessions WHERE key IN (
       SELECT key FROM mcp_sessions WHERE ended = 1 AND ends_at <= ? LIMIT ${SWEEP_ROWS})`,
  ],
  loss: 'each client begins a new session',
};
