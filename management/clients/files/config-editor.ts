import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** A file that is not what its client would read: it is not touched. */
export class UnreadableConfig extends Error {
  override readonly name = 'UnreadableConfig';
}

export type Values = Record<string, unknown>;

/** How the configuration files of one format are read and changed. */
export interface Editor {
  /** The values of a text. @throws UnreadableConfig */
  read(text: string): Values;
  /** The text with this entry in this table; all else stays as it is, comments too. */
  put(text: string, table: string, name: string, entry: Values): string;
  /** The text without this entry, and without its table where that is empty then and holds no comment. */
  drop(text: string, table: string, name: string): string;
  /** An entry by itself, ready to paste. */
  print(table: string, name: string, entry: Values): string;
}

const Table = z.record(z.string(), z.unknown());

/** A table of a file. @throws UnreadableConfig where it is something else */
export function tableOf(value: unknown, what: string): Values {
  const { data } = Table.safeParse(value);
  if (data) return data;
  throw new UnreadableConfig(`${what} is no table of values`);
}

/** Whether two tables hold the same, in whatever order. Dates and long numbers count by their text. */
export function sameValues(a: Values, b: Values): boolean {
  const plain = (value: Values): unknown =>
    JSON.parse(
      JSON.stringify(value, (_key, inside: unknown) => (typeof inside === 'bigint' ? String(inside) : inside)),
    );
  return isDeepStrictEqual(plain(a), plain(b));
}

/** Values with this entry. */
export function withEntry(values: Values, table: string, name: string, entry: unknown): Values {
  return { ...values, [table]: { ...tableOf(values[table] ?? {}, table), [name]: entry } };
}

/** Values without this entry. An empty table goes, too. */
export function withoutEntry(values: Values, table: string, name: string): Values {
  const rest = Object.entries(tableOf(values[table] ?? {}, table)).filter(([one]) => one !== name);
  const others = Object.entries(values).filter(([one]) => one !== table);
  return Object.fromEntries(rest.length === 0 ? others : [...others, [table, Object.fromEntries(rest)]]);
}

/** Values without this table where it is empty. */
export const withoutEmpty = (values: Values, table: string): Values =>
  isDeepStrictEqual(values[table], {})
    ? Object.fromEntries(Object.entries(values).filter(([one]) => one !== table))
    : values;

/** The first text that is right; one that cannot be made or read is passed over. @throws UnreadableConfig where none is */
export function firstThat(
  isRight: (text: string) => boolean,
  ...changes: readonly (() => string | undefined)[]
): string {
  for (const change of changes) {
    try {
      const changed = change();
      if (changed !== undefined && isRight(changed)) return changed;
    } catch (problem) {
      if (!(problem instanceof UnreadableConfig)) throw problem;
    }
  }
  throw new UnreadableConfig('it is written in a way that cannot be changed safely');
}

/** How the lines of a text end. */
export const lineEndOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');
