import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ResourceKey, runtimeFolder, runtimeName } from '#operator/snapshot';
import { readAllocations, writeAllocations } from './allocate-ports.ts';
import type { StateFolder } from './state-folder.ts';

type Server = Pick<ResourceKey, 'kind' | 'namespace' | 'name'>;

interface StateFile {
  path: string;
  rows: Record<string, number>;
}

const PART_OF_DATABASE = /\.sqlite-(wal|shm|journal)$/;
const DATABASE = '.sqlite';
/** Maps a table to the name of its rows, which is the same as in Redis. */
const ROW_KINDS: Record<string, string> = {
  codes: 'code',
  sessions: 'session',
  links: 'links',
  leases: 'lease',
  counts: 'count',
  mcp_sessions: 'mcp',
  mcp_session_fields: 'mcp-field',
};
const BUSY_MS = 5000;

function foldersOf(state: StateFolder, { kind, namespace, name }: Server): string[] {
  return [state.logins, state.generated].map((below) => join(below, namespace, runtimeFolder({ kind, name })));
}

const filesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder).sort() : []);

/** A file that is not one of vmcp's databases has no rows. */
function withDatabase<T>(path: string, readOnly: boolean, work: (database: DatabaseSync) => T): T | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly, timeout: BUSY_MS });
    return work(database);
  } catch (problem) {
    if (readOnly) return undefined;
    throw problem;
  } finally {
    database?.close();
  }
}

function tablesOf(database: DatabaseSync): string[] {
  const names = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`);
  return names.all().map(({ name }) => String(name));
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function countRows(database: DatabaseSync): Record<string, number> {
  const counted: Record<string, number> = {};
  for (const table of tablesOf(database)) {
    const kind = table === 'plain' ? 'kind' : `'${ROW_KINDS[table] ?? 'row'}'`;
    const sql = `SELECT ${kind} AS kind, count(*) AS count FROM ${quoted(table)} GROUP BY 1`;
    for (const row of database.prepare(sql).all()) counted[String(row.kind)] = Number(row.count);
  }
  return counted;
}

/** Returns the login database and the keys. */
export function stateFiles(state: StateFolder, server: Server): StateFile[] {
  return foldersOf(state, server).flatMap((folder) =>
    filesIn(folder)
      .filter((name) => !PART_OF_DATABASE.test(name))
      .map((name) => {
        const path = join(folder, name);
        return { path, rows: (name.endsWith(DATABASE) ? withDatabase(path, true, countRows) : undefined) ?? {} };
      }),
  );
}

/** Removes the uid too. No running process may have the state folder open. */
export function removeStateFiles(state: StateFolder, server: Server): void {
  for (const folder of foldersOf(state, server)) rmSync(folder, { recursive: true, force: true });
}

/** A later server of the same name gets another uid and cannot open files left by this server. */
export function forgetIdentity(state: StateFolder, server: Server): void {
  const allocations = readAllocations(state);
  const place = `${server.namespace}/${runtimeName(server)}`;
  const uids = Object.fromEntries(Object.entries(allocations.uids).filter(([name]) => name !== place));
  if (place in allocations.uids) writeAllocations(state, { ...allocations, uids });
}

/** Uses one transaction for each database. Keeps the keys. */
export function emptyDatabases(state: StateFolder, server: Server): void {
  for (const { path } of stateFiles(state, server).filter((file) => file.path.endsWith(DATABASE))) {
    withDatabase(path, false, (database) => {
      database.exec('BEGIN IMMEDIATE');
      for (const table of tablesOf(database)) database.exec(`DELETE FROM ${quoted(table)}`);
      database.exec('COMMIT');
    });
  }
}
