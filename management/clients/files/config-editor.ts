import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** Malformed configuration file, which vmcp does not change. */
export class UnreadableConfig extends Error {
  override readonly name = 'UnreadableConfig';
}

export type Values = Record<string, unknown>;

export interface Editor {
  /** @throws UnreadableConfig */
  read(text: string): Values;
  /** Keeps everything else, comments included. */
  put(text: string, table: string, name: string, entry: Values): string;
  /** Returns the text without this entry, and without its table if that is empty and has no comment. */
  drop(text: string, table: string, name: string): string;
  print(table: string, name: string, entry: Values): string;
}

const Table = z.record(z.string(), z.unknown());

/** @throws UnreadableConfig if the value is no table */
export function tableOf(value: unknown, what: string): Values {
  const { data } = Table.safeParse(value);
  if (data) return data;
  throw new UnreadableConfig(`${what} is no table of values`);
}

/** Compares in any order; dates and long numbers as text. */
export function sameValues(a: Values, b: Values): boolean {
  const plain = (value: Values): unknown =>
    JSON.parse(
      JSON.stringify(value, (_key, inside: unknown) => (typeof inside === 'bigint' ? String(inside) : inside)),
    );
  return isDeepStrictEqual(plain(a), plain(b));
}

export function withEntry(values: Values, table: string, name: string, entry: unknown): Values {
  return { ...values, [table]: { ...tableOf(values[table] ?? {}, table), [name]: entry } };
}

export function withoutEntry(values: Values, table: string, name: string): Values {
  const rest = Object.entries(tableOf(values[table] ?? {}, table)).filter(([one]) => one !== name);
  const others = Object.entries(values).filter(([one]) => one !== table);
  return Object.fromEntries(rest.length === 0 ? others : [...others, [table, Object.fromEntries(rest)]]);
}

export const withoutEmpty = (values: Values, table: string): Values =>
  isDeepStrictEqual(values[table], {})
    ? Object.fromEntries(Object.entries(values).filter(([one]) => one !== table))
    : values;

/** Returns the first correct result; skips results that cannot be created or parsed. @throws UnreadableConfig if none is correct */
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

export const lineEndOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');
