import { ExpiringRows } from './expiring-rows.ts';
import { isRevoked } from './session-rules.ts';
import { type AssertionUse, KEPT_KINDS, type PlainRows, type RedeemedAssertion } from './storage.ts';

export type PlainTables = { readonly [Kind in keyof PlainRows]: ExpiringRows<PlainRows[Kind]> };

/** Opens the plain rows of the memory storage. `now`: milliseconds since the epoch. */
export function openPlainTables(now: () => number): PlainTables {
  return {
    client: new ExpiringRows(now),
    login: new ExpiringRows(now),
    browser: new ExpiringRows(now),
    ticket: new ExpiringRows(now),
    answer: new ExpiringRows(now),
    assertion: new ExpiringRows(now),
    slot: new ExpiringRows(now),
    revocation: new ExpiringRows(now),
  };
}

/** Returns false when the capacity is reached and rows of the kind are never removed. */
export function putRow<Kind extends keyof PlainRows>(
  tables: PlainTables,
  kind: Kind,
  id: string,
  { row, endsAt, capacity }: { readonly row: PlainRows[Kind]; readonly endsAt: number; readonly capacity: number },
): boolean {
  const rows = tables[kind];
  if (KEPT_KINDS.includes(kind) && !rows.fits(id, capacity)) return false;
  rows.evictFor(id, capacity);
  rows.set(id, row, endsAt);
  return true;
}

interface TableRules {
  readonly now: number;
  readonly capacity: number;
}

/** Marks an assertion as used. It evicts no other one. */
export function markUsed(
  { assertion }: PlainTables,
  { id, lifespan }: Pick<RedeemedAssertion, 'id' | 'lifespan'>,
  { now, capacity }: TableRules,
): AssertionUse {
  if (assertion.get(id)) return 'replayed';
  if (!assertion.fits(id, capacity)) return 'full';
  assertion.set(id, { used_at: now }, now + lifespan);
  return 'used';
}

/** Marks an assertion as used unless it was revoked. @returns the reason of a refusal */
export function redeemIn(
  tables: PlainTables,
  assertion: RedeemedAssertion,
  rules: TableRules,
): 'revoked' | 'replayed' | 'full' | undefined {
  if (assertion.revocations.some((id) => isRevoked(assertion, tables.revocation.get(id)))) return 'revoked';
  const use = markUsed(tables, assertion, rules);
  return use === 'used' ? undefined : use;
}
