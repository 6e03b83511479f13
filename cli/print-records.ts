import type { Context, RecordFormat } from './context.ts';
import { printObject } from './print-object.ts';
import { printTable } from './print-table.ts';
import { shownLine } from './shown-output.ts';

/** How records of one kind are shown. */
export interface Listing<T> {
  /** Heads of the columns. */
  columns: readonly string[];
  row: (record: T) => readonly string[];
  name: (record: T) => string;
  /** What no other record has, where names may be the same. */
  id?: (record: T) => string;
  /** Told where there is none: what to do about it. */
  none: (typed: Context['typed']) => string;
}

/**
 * Prints a list: as a table, as an array of records as the API has them, or as names. Where there is none, that is told to people,
 * and programs get an empty list.
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

/** Lines of a table with its head. */
export function tableOf<T>(records: readonly T[], listing: Pick<Listing<T>, 'columns' | 'row'>): string[] {
  return printTable([[...listing.columns], ...records.map((record) => cellsOf(record, listing))]);
}

/** A cell without text would look like a column that is missing. */
const cellOf = (text: string): string => shownLine(text) || '-';

/** Cells of a row, as they may stand on a terminal. */
export const cellsOf = <T>(record: T, { row }: Pick<Listing<T>, 'row'>): string[] => row(record).map(cellOf);
