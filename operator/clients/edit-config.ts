import { isDeepStrictEqual } from 'node:util';
import { parse as parseToml, patch as patchToml, stringify as stringifyToml } from '@decimalturn/toml-patch';
import { applyEdits, modify, type ParseError, parse as parseJson, printParseErrorCode } from 'jsonc-parser';
import { parseDocument, stringify as stringifyYaml } from 'yaml';
import { z } from 'zod';
import type { Format } from './clients.ts';

/** A file that is not what its client would read: it is not touched. */
export class UnreadableConfig extends Error {
  override readonly name = 'UnreadableConfig';
}

type Values = Record<string, unknown>;

interface Editor {
  /** The values of a text. @throws UnreadableConfig */
  read(text: string): Values;
  /** The text with this entry in this table; all else stays as it is, comments too. */
  put(text: string, table: string, name: string, entry: Values): string;
  /** The text without this entry, and without its table where that is empty then. */
  drop(text: string, table: string, name: string): string;
  /** An entry by itself, ready to paste. */
  print(table: string, name: string, entry: Values): string;
}

const Table = z.record(z.string(), z.unknown());

function tableOf(value: unknown, what: string): Values {
  const { data } = Table.safeParse(value);
  if (data) return data;
  throw new UnreadableConfig(`${what} is no table of values`);
}

/** Whether two tables hold the same, in whatever order. Dates and long numbers count by their text. */
function sameValues(a: Values, b: Values): boolean {
  const plain = (value: Values): unknown =>
    JSON.parse(
      JSON.stringify(value, (_key, inside: unknown) => (typeof inside === 'bigint' ? String(inside) : inside)),
    );
  return isDeepStrictEqual(plain(a), plain(b));
}

/** Where an offset of a text is, counted from 1. */
function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function readJson(text: string, comments: boolean): Values {
  if (text.trim() === '') return {};
  const errors: ParseError[] = [];
  const value: unknown = parseJson(text, errors, { allowTrailingComma: comments, disallowComments: !comments });
  const [first] = errors;
  if (first) throw new UnreadableConfig(`line ${lineOf(text, first.offset)}: ${printParseErrorCode(first.error)}`);
  return tableOf(value, 'the file');
}

/** As the file is indented already. */
function formattingOf(text: string) {
  const [, space = '  '] = /^([ \t]+)\S/m.exec(text) ?? [];
  return {
    insertSpaces: !space.startsWith('\t'),
    tabSize: space.startsWith('\t') ? 1 : space.length,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  };
}

function putJson(text: string, table: string, name: string, entry: Values): string {
  const before = text.trim() === '' ? '{}\n' : text;
  const formattingOptions = formattingOf(before);
  const hasTable = (readJson(before, true)[table] ?? null) !== null;
  const edits = hasTable
    ? modify(before, [table, name], entry, { formattingOptions })
    : modify(before, [table], { [name]: entry }, { formattingOptions });
  return applyEdits(before, edits);
}

function dropJson(text: string, table: string, name: string): string {
  const others = Object.keys(tableOf(readJson(text, true)[table] ?? {}, table)).filter((one) => one !== name);
  const path = others.length > 0 ? [table, name] : [table];
  return applyEdits(text, modify(text, path, undefined, { formattingOptions: formattingOf(text) }));
}

const jsonEditor = (comments: boolean): Editor => ({
  read: (text) => readJson(text, comments),
  put: putJson,
  drop: dropJson,
  print: (table, name, entry) => JSON.stringify({ [table]: { [name]: entry } }, null, 2),
});

function readToml(text: string): Values {
  try {
    return tableOf(parseToml(text), 'the file');
  } catch (cause) {
    if (cause instanceof UnreadableConfig) throw cause;
    const said = cause instanceof Error ? cause.message.replaceAll('\n', ' ') : 'not TOML';
    throw new UnreadableConfig(said, { cause });
  }
}

function printToml(table: string, name: string, entry: Values): string {
  const key = /^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name);
  return `[${table}.${key}]\n${stringifyToml(entry).trimEnd()}`;
}

/** A table at the end, as people write it, unless the file has this name already or writes its tables in another way. */
function putToml(text: string, table: string, name: string, entry: Values): string {
  const values = readToml(text);
  const wanted = { ...values, [table]: { ...tableOf(values[table] ?? {}, table), [name]: entry } };
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const gap = text.trim() === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
  const appended = `${text}${gap}${printToml(table, name, entry).replaceAll('\n', eol)}${eol}`;
  try {
    if (sameValues(readToml(appended), wanted)) return appended;
  } catch (problem) {
    if (!(problem instanceof UnreadableConfig)) throw problem;
  }
  return patchToml(text, wanted);
}

/** The lines that were written here, where nobody has changed them since; else by way of the values. */
function dropToml(text: string, table: string, name: string): string {
  const values = readToml(text);
  const wanted = without(values, table, name);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const written = `${printToml(table, name, tableOf(tableOf(values[table], table)[name], name))}\n`.replaceAll(
    '\n',
    eol,
  );
  const at = text.lastIndexOf(written);
  if (at >= 0) {
    const before = text.slice(0, at).endsWith(eol + eol) ? text.slice(0, at - eol.length) : text.slice(0, at);
    const cut = before + text.slice(at + written.length);
    if (sameValues(readToml(cut), wanted)) return cut;
  }
  return patchToml(text, wanted);
}

const tomlEditor: Editor = { read: readToml, put: putToml, drop: dropToml, print: printToml };

function yamlDocument(text: string) {
  const document = parseDocument(text);
  const [first] = document.errors;
  if (first) throw new UnreadableConfig(first.message.split('\n')[0] ?? 'not YAML', { cause: first });
  return document;
}

const yamlEditor: Editor = {
  read: (text) => tableOf(yamlDocument(text).toJS() ?? {}, 'the file'),
  put(text, table, name, entry) {
    const document = yamlDocument(text);
    if (document.has(table) && document.get(table) === undefined) document.delete(table);
    document.setIn([table, name], entry);
    return document.toString({ lineWidth: 0 });
  },
  drop(text, table, name) {
    const document = yamlDocument(text);
    const emptied = Object.keys(tableOf(document.toJS(), 'the file')[table] ?? {}).every((one) => one === name);
    document.deleteIn(emptied ? [table] : [table, name]);
    const isEmpty = Object.keys(tableOf(document.toJS() ?? {}, 'the file')).length === 0;
    return isEmpty && !text.includes('#') ? '' : document.toString({ lineWidth: 0 });
  },
  print: (table, name, entry) => stringifyYaml({ [table]: { [name]: entry } }).trimEnd(),
};

/** How the file of each format is read and changed. */
export const EDITORS: Record<Format, Editor> = {
  json: jsonEditor(false),
  jsonc: jsonEditor(true),
  toml: tomlEditor,
  yaml: yamlEditor,
};

/** The entry of this name in a file's text; undefined: none. @throws UnreadableConfig */
export function entryIn(text: string, format: Format, table: string, name: string): Values | undefined {
  const servers = EDITORS[format].read(text.replace(/^\uFEFF/, ''))[table];
  if (servers === undefined || servers === null) return undefined;
  const entry = tableOf(servers, table)[name];
  return entry === undefined ? undefined : tableOf(entry, `${table}.${name}`);
}

/**
 * The text with this entry, everything else as it was. @throws UnreadableConfig, also when the result would not be what was
 * meant: then nothing is written
 */
export function putEntry(text: string, format: Format, table: string, name: string, entry: Values): string {
  const editor = EDITORS[format];
  return edit(text, editor, {
    change: (plain) => editor.put(plain, table, name, entry),
    wanted: (values) => ({ ...values, [table]: { ...tableOf(values[table] ?? {}, table), [name]: entry } }),
  });
}

/** The text without this entry, everything else as it was. @throws UnreadableConfig as `putEntry` */
export function dropEntry(text: string, format: Format, table: string, name: string): string {
  if (entryIn(text, format, table, name) === undefined) return text;
  const editor = EDITORS[format];
  return edit(text, editor, {
    change: (plain) => editor.drop(plain, table, name),
    wanted: (values) => without(values, table, name),
  });
}

interface Edit {
  change: (text: string) => string;
  /** What the values have to be then. */
  wanted: (values: Values) => Values;
}

function edit(text: string, editor: Editor, { change, wanted }: Edit): string {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const plain = text.slice(mark.length);
  const values = wanted(editor.read(plain));
  const changed = change(plain);
  if (sameValues(editor.read(changed), values)) return mark + changed;
  throw new UnreadableConfig('it is written in a way that cannot be changed safely');
}

/** An empty table goes, too. */
function without(values: Values, table: string, name: string): Values {
  const rest = Object.entries(tableOf(values[table] ?? {}, table)).filter(([one]) => one !== name);
  const others = Object.entries(values).filter(([one]) => one !== table);
  return Object.fromEntries(rest.length === 0 ? others : [...others, [table, Object.fromEntries(rest)]]);
}
