import { parse as parseToml, patch as patchToml, stringify as stringifyToml } from '@decimalturn/toml-patch';
import {
  type Editor,
  firstThat,
  lineEndOf,
  sameValues,
  tableOf,
  UnreadableConfig,
  type Values,
  withEntry,
  withoutEmpty,
  withoutEntry,
} from './config-editor.ts';

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

const holds = (wanted: Values, table: string) => (text: string) =>
  sameValues(withoutEmpty(readToml(text), table), wanted);

/** Appends a table, unless the entry exists already or the file writes its tables differently. */
function putToml(text: string, table: string, name: string, entry: Values): string {
  const wanted = withEntry(readToml(text), table, name, entry);
  const eol = lineEndOf(text);
  const gap = text.trim() === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
  const written = `${printToml(table, name, entry)}\n`.replaceAll('\n', eol);
  return firstThat(
    holds(wanted, table),
    () => text + gap + written,
    () => patchToml(text, wanted),
  );
}

/** Removes the lines that vmcp wrote if they are unchanged; otherwise edits the values. */
function dropToml(text: string, table: string, name: string): string {
  const values = readToml(text);
  const wanted = withoutEntry(values, table, name);
  const entry = tableOf(tableOf(values[table], table)[name], name);
  return firstThat(
    holds(wanted, table),
    () => cutLines(text, printToml(table, name, entry)),
    () => patchToml(text, wanted),
  );
}

/** Removes the last occurrence of these lines, with an empty line before them; undefined if there is none. */
function cutLines(text: string, lines: string): string | undefined {
  const eol = lineEndOf(text);
  const written = `${lines}\n`.replaceAll('\n', eol);
  const at = text.lastIndexOf(written);
  if (at < 0) return undefined;
  const before = text.slice(0, at).endsWith(eol + eol) ? text.slice(0, at - eol.length) : text.slice(0, at);
  return before + text.slice(at + written.length);
}

export const tomlEditor: Editor = { read: readToml, put: putToml, drop: dropToml, print: printToml };
