import type { SqliteDatabase } from '#runtime/storage/sqlite/database';
import { ROWS_OF_A_KIND } from '../bounds.ts';
import { parseRow, type StoredRows } from '../parse-row.ts';
import { isRevoked } from '../session-rules.ts';
import { type AssertionUse, KEPT_KINDS, type PlainRows, type RedeemedAssertion } from '../storage.ts';
import * as sql from './statements.ts';

export type Columns = ReturnType<SqliteDatabase['row']>;

/** Parses the column `row`. @throws StorageUnavailable when it is malformed */
export function rowOf<Kind extends keyof StoredRows>(kind: Kind, columns: Columns): StoredRows[Kind] | undefined {
  return columns && parseRow(kind, String(columns.row));
}

/** Returns false when the capacity is reached and rows of the kind are never removed. */
export function put<Kind extends keyof PlainRows>(
  database: SqliteDatabase,
  kind: Kind,
  id: string,
  { row, now, lifespan, capacity }: { row: PlainRows[Kind]; now: number; lifespan: number; capacity: number },
): boolean {
  const excess = Number(database.row(sql.SIZE, kind, id, now)?.size) - capacity + 1;
  if (excess > 0 && KEPT_KINDS.includes(kind)) return false;
  if (excess > 0) database.run(sql.DROP_OLDEST, kind, kind, id, now, excess);
  database.run(sql.PUT, kind, id, JSON.stringify(row), now + lifespan);
  return true;
}

export function get<Kind extends keyof PlainRows>(
  database: SqliteDatabase,
  kind: Kind,
  id: string,
  now: number,
): PlainRows[Kind] | undefined {
  return rowOf(kind, database.row(sql.GET, kind, id, now));
}

/** Marks an assertion as used. It evicts no other one. */
export function markUsed(
  database: SqliteDatabase,
  { id, lifespan }: Pick<RedeemedAssertion, 'id' | 'lifespan'>,
  now: number,
): AssertionUse {
  if (get(database, 'assertion', id, now)) return 'replayed';
  if (Number(database.row(sql.SIZE, 'assertion', id, now)?.size) >= ROWS_OF_A_KIND) return 'full';
  database.run(sql.PUT, 'assertion', id, JSON.stringify({ used_at: now }), now + lifespan);
  return 'used';
}

/** Marks an assertion as used unless it was revoked. */
export function redeem(database: SqliteDatabase, assertion: RedeemedAssertion, now: number): AssertionUse | 'revoked' {
  const ended = assertion.revocations.some((id) => isRevoked(assertion, get(database, 'revocation', id, now)));
  return ended ? 'revoked' : markUsed(database, assertion, now);
}
