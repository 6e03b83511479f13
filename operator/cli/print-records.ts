import type { Context, RecordFormat } from './context.ts';
import { printObject } from './print-object.ts';
import { printTable } from './print-table.ts';

/** How records of one kind are shown. */
export interface Listing<T> {
  /** Heads of the columns. */
  columns: readonly string[];
  row: (record: T) => readonly string[];
  name: (record: T) => string;
  /** Told where there is none: what to do about it. */
  none: string;
}

/**
 * Prints a list: as a table, as an array of records as the API has them, or as names. Where there is none, that is told to people,
 * and programs get an empty list.
 */
export function printRecords<T>(
  records: readonly T[],
  listing: Listing<T>,
  format: RecordFormat,
  { out, err }: Pick<Context, 'out' | 'err'>,
): void {
  if (format === 'json' || format === 'yaml') out.write(printObject(records, format));
  else if (format === 'name') out.write(records.map((record) => `${listing.name(record)}\n`).join(''));
  else if (records.length === 0) err.write(`${listing.none}\n`);
  else out.write(`${tableOf(records, listing).join('\n')}\n`);
}

/** Lines of a table with its head. */
export function tableOf<T>(records: readonly T[], { columns, row }: Pick<Listing<T>, 'columns' | 'row'>): string[] {
  return printTable([[...columns], ...records.map((record) => row(record).map(cellOf))]);
}

/** A cell without text would look like a column that is missing. */
const cellOf = (text: string): string => (text === '' ? '-' : text.replaceAll(/\s+/g, ' '));
