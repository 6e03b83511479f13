import type { Context, RecordFormat } from './context.ts';
import { printObject } from './print-object.ts';
import { shownLine } from './shown-output.ts';

export interface Listing<T> {
  columns: readonly string[];
  row: (record: T) => readonly string[];
  name: (record: T) => string;
  /** Unique key, for lists with duplicate names. */
  id?: (record: T) => string;
  none: (typed: Context['typed']) => string;
}

/** Prints a message for an empty list to the user, and an empty list to programs. */
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

export function tableOf<T>(records: readonly T[], listing: Pick<Listing<T>, 'columns' | 'row'>): string[] {
  return printTable([[...listing.columns], ...records.map((record) => cellsOf(record, listing))]);
}

/** An empty cell looks like a missing column. */
const cellOf = (text: string): string => shownLine(text) || '-';

export const cellsOf = <T>(record: T, { row }: Pick<Listing<T>, 'row'>): string[] => row(record).map(cellOf);

export function printTable(rows: string[][]): string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
