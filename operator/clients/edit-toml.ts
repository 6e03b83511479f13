import { parse as parseToml, patch as patchToml, stringify as stringifyToml } from '@decimalturn/toml-patch';
import {
  type Editor,
  lineEndOf,
  sameValues,
  tableOf,
  UnreadableConfig,
  type Values,
  withEntry,
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

/** A table at the end, as people write it, unless the file has this name already or writes its tables in another way. */
function putToml(text: string, table: string, name: string, entry: Values): string {
  const wanted = withEntry(readToml(text), table, name, entry);
  const eol = lineEndOf(text);
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
  const wanted = withoutEntry(values, table, name);
  const eol = lineEndOf(text);
  const entry = tableOf(tableOf(values[table], table)[name], name);
  const written = `${printToml(table, name, entry)}\n`.replaceAll('\n', eol);
  const at = text.lastIndexOf(written);
  if (at >= 0) {
    const before = text.slice(0, at).endsWith(eol + eol) ? text.slice(0, at - eol.length) : text.slice(0, at);
    const cut = before + text.slice(at + written.length);
    if (sameValues(readToml(cut), wanted)) return cut;
  }
  return patchToml(text, wanted);
}

export const tomlEditor: Editor = { read: readToml, put: putToml, drop: dropToml, print: printToml };
