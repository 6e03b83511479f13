import type { Context, RecordFormat } from './context.ts';
import { printObject } from './print-object.ts';
import { printTable } from './print-table.ts';
import { shownLine } from './shown-output.ts';

/** Display settings for one kind of record. */
export interface Listing<T> {
  /** Column headers. */
  columns: readonly string[];
  row: (record: T) => readonly string[];
  name: (record: T) => string;
  /** Unique key of a record, for lists with duplicate names. */
  id?: (record: T) => string;
  /** Message for an empty list, with a suggested command. */
  none: (typed: Context['typed']) => string;
}

/**
 * Prints a list: as a table, as an array of API records, or as names. An empty list prints a message to the user, and an empty list to
 * programs.
 */
export function printRecords<T>(
  records: readonly T[],
  listing: Listing<T>,
  format: RecordFormat,
  { out, err, typed }: Pick<Context, 'out' | 'err' | 'typed'>,
): void {
  if (format === 'json' || format === 'yaml') out.write(printObject(records, format));
  else if (format === 'name') out.write(records.map((record) => `${shownLine(listing.name(record))}\n`).join(''));
  else if (records.length === 0) err.write(`${listing.none(typed)}\n`);
  else out.write(`${tableOf(records, listing).join('\n')}\n`);
}

/** Returns the lines of a table with its header. */
export function tableOf<T>(records: readonly T[], listing: Pick<Listing<T>, 'columns' | 'row'>): string[] {
  return printTable([[...listing.columns], ...records.map((record) => cellsOf(record, listing))]);
}

/** Replaces an empty cell by a dash, because an empty cell looks like a missing column. */
const cellOf = (text: string): string => shownLine(text) || '-';

/** Returns the cells of a row, escaped for a terminal. */
export const cellsOf = <T>(record: T, { row }: Pick<Listing<T>, 'row'>): string[] => row(record).map(cellOf);
