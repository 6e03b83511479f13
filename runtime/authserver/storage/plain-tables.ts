import { ExpiringRows } from './expiring-rows.ts';
import type { AssertionUse, PlainRows } from './storage.ts';

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
  };
}

/** Marks an assertion as used. It evicts no other one. */
export function markUsed(
  { assertion }: PlainTables,
  id: string,
  { now, lifespan, capacity }: { readonly now: number; readonly lifespan: number; readonly capacity: number },
): AssertionUse {
  if (assertion.get(id)) return 'replayed';
  if (!assertion.fits(id, capacity)) return 'full';
  assertion.set(id, { used_at: now }, now + lifespan);
  return 'used';
}
