import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, Output, RecordFormat } from './context.ts';
import { cellsOf, type Listing, printRecords, printTable, tableOf } from './print-records.ts';
import { shownLine, shownText, writeRaw } from './shown-output.ts';
import { writeText } from '#operator/yaml-text';

interface Watch<T> {
  list: () => Promise<readonly T[]>;
  listing: Listing<T>;
  format: RecordFormat;
  /** Milliseconds. */
  every?: number;
}

export interface ListOptions {
  watch: boolean;
  output: RecordFormat;
}

export async function showRecords<T>(
  { list, listing }: Pick<Watch<T>, 'list' | 'listing'>,
  { watch, output: format }: ListOptions,
  context: Context,
  stop: AbortSignal,
): Promise<void> {
  if (watch) await watchRecords({ list, listing, format }, context, stop);
  else printRecords(await list(), listing, format, context);
}

const LOOK = 1000;

/** Redraws a table on a terminal; else prints a row, a name, or `{event: changed|gone, item}` for each change. */
export async function watchRecords<T>(
  { list, listing, format, every = LOOK }: Watch<T>,
  { out, typed }: Pick<Context, 'out' | 'typed'>,
  stop: AbortSignal,
): Promise<void> {
  const show =
    format === 'table' && out.isTTY === true ? redraw(out, listing, typed) : printChanges(out, listing, format);
  while (!stop.aborted) {
    const records = await list().catch((problem: unknown) => {
      if (stop.aborted) return undefined;
      throw problem;
    });
    if (records) show(records);
    await sleep(every, undefined, { signal: stop }).catch(() => undefined);
  }
}

type Show<T> = (records: readonly T[]) => void;

function redraw<T>(out: Output, listing: Listing<T>, typed: Context['typed']): Show<T> {
  let height = 0;
  return (records) => {
    const width = out.columns === undefined || out.columns === 0 ? 80 : out.columns;
    const lines = records.length === 0 ? [listing.none(typed)] : tableOf(records, listing);
    const cut = lines.map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line));
    writeRaw(out, `${height === 0 ? '' : `\u001B[${height}A`}\u001B[J${shownText(cut.join('\n'))}\n`);
    height = cut.length;
  };
}

function printChanges<T>(out: Output, listing: Listing<T>, format: RecordFormat): Show<T> {
  const print = printers<T>(listing)[format];
  const idOf = listing.id ?? listing.name;
  const known = new Map<string, { text: string; record: T }>();
  if (format === 'table') out.write(`${printTable([[...listing.columns]]).join('')}\n`);
  return (records) => {
    const ids = new Set(records.map(idOf));
    for (const record of records) {
      const text = JSON.stringify(record);
      const id = idOf(record);
      if (known.get(id)?.text === text) continue;
      known.set(id, { text, record });
      out.write(print('changed', record));
    }
    for (const [id, { record }] of known) {
      if (ids.has(id)) continue;
      known.delete(id);
      out.write(print('gone', record));
    }
  };
}

type Event = 'changed' | 'gone';

function printers<T>(listing: Listing<T>): Record<RecordFormat, (event: Event, item: T) => string> {
  const note = (event: Event): string => (event === 'gone' ? '  gone' : '');
  return {
    table: (event, item) => `${cellsOf(item, listing).join('  ')}${note(event)}\n`,
    name: (event, item) => `${shownLine(listing.name(item))}${note(event)}\n`,
    json: (event, item) => `${JSON.stringify({ event, item })}\n`,
    yaml: (event, item) => `---\n${writeText({ event, item })}`,
  };
}
