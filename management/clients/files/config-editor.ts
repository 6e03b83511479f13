import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** Malformed configuration file, which vmcp does not change. */
export class UnreadableConfig extends Error {
  override readonly name = 'UnreadableConfig';
}

export type Values = Record<string, unknown>;

/** Reads and edits configuration files of one format. */
export interface Editor {
  /** Parses a text. @throws UnreadableConfig */
  read(text: string): Values;
  /** Returns the text with this entry in this table. Everything else stays, comments included. */
  put(text: string, table: string, name: string, entry: Values): string;
  /** Returns the text without this entry, and without its table if that is empty and has no comment. */
  drop(text: string, table: string, name: string): string;
  /** Renders one entry as text to paste. */
  print(table: string, name: string, entry: Values): string;
}

const Table = z.record(z.string(), z.unknown());

/** Returns the value as a table. @throws UnreadableConfig if it is none */
export function tableOf(value: unknown, what: string): Values {
  const { data } = Table.safeParse(value);
  if (data) return data;
  throw new UnreadableConfig(`${what} is no table of values`);
}

/** Returns whether two tables are equal, in any order. Dates and long numbers are compared as text. */
export function sameValues(a: Values, b: Values): boolean {
  const plain = (value: Values): unknown =>
    JSON.parse(
      JSON.stringify(value, (_key, inside: unknown) => (typeof inside === 'bigint' ? String(inside) : inside)),
    );
  return isDeepStrictEqual(plain(a), plain(b));
}

/** Returns the values with this entry. */
export function withEntry(values: Values, table: string, name: string, entry: unknown): Values {
  return { ...values, [table]: { ...tableOf(values[table] ?? {}, table), [name]: entry } };
}

/** Returns the values without this entry, and without its table if that is empty. */
export function withoutEntry(values: Values, table: string, name: string): Values {
  const rest = Object.entries(tableOf(values[table] ?? {}, table)).filter(([one]) => one !== name);
  const others = Object.entries(values).filter(([one]) => one !== table);
  return Object.fromEntries(rest.length === 0 ? others : [...others, [table, Object.fromEntries(rest)]]);
}

/** Returns the values without this table if it is empty. */
export const withoutEmpty = (values: Values, table: string): Values =>
  isDeepStrictEqual(values[table], {})
    ? Object.fromEntries(Object.entries(values).filter(([one]) => one !== table))
    : values;

/**
 * Returns the first correct result; skips results that cannot be created or parsed.
 * @throws UnreadableConfig if none is correct
 */
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

/** Returns the line ending of a text. */
export const lineEndOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');
