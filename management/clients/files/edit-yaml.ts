import { isMap, isScalar, parseDocument, stringify, type YAMLMap } from 'yaml';
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

function documentOf(text: string, schema: 'core' | 'failsafe') {
  const document = parseDocument(text, { schema });
  const [first] = document.errors;
  if (first) throw new UnreadableConfig(first.message.split('\n')[0] ?? 'not YAML', { cause: first });
  return document;
}

const read = (text: string): Values => tableOf(documentOf(text, 'core').toJS() ?? {}, 'the file');

/** Returns all scalars as written, because programs differ on 017 and numbers may exceed the range of JavaScript. */
function exact(text: string, table: string): Values {
  const values = tableOf(documentOf(text, 'failsafe').toJS() ?? {}, 'the file');
  return typeof values[table] === 'string' ? { ...values, [table]: {} } : values;
}

const print = (table: string, name: string, entry: Values): string =>
  stringify({ [table]: { [name]: entry } }, { lineWidth: 0 }).trimEnd();

interface EntryLines {
  from: number;
  to: number;
  indent: string;
}

const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1;

function lineEnd(text: string, offset: number): number {
  if (text[offset - 1] === '\n') return offset;
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end + 1;
}

/** Returns the lines of one member of a block mapping; undefined if it does not exist or has another style. */
function linesOf(text: string, map: YAMLMap, name: string): (EntryLines & { value: unknown }) | undefined {
  const pair = map.items.find(({ key }) => isScalar(key) && String(key.value) === name);
  if (!pair || !isScalar(pair.key) || !pair.key.range) return undefined;
  const { value } = pair;
  const [start, keyEnd] = pair.key.range;
  const from = lineStart(text, start);
  const indent = text.slice(from, start);
  if (map.flow === true || indent.trim() !== '') return undefined;
  const end = isMap(value) || isScalar(value) ? value.range?.[2] : undefined;
  return { from, to: lineEnd(text, end ?? keyEnd), indent, value };
}

const indented = (lines: string, indent: string): string => lines.replaceAll(/^/gm, indent);

/** Inserts the lines of an entry into its table or a new table at the end; undefined if line edits cannot do it. */
function insert(text: string, table: string, name: string, entry: Values): string | undefined {
  const root = documentOf(text, 'failsafe').contents;
  const found = isMap(root) ? linesOf(text, root, table) : undefined;
  if (!found) return join(text, print(table, name, entry), '');
  const { value, to } = found;
  const lines = stringify({ [name]: entry }, { lineWidth: 0 }).trimEnd();
  if (isMap(value) && value.items.length > 0) {
    const former = linesOf(text, value, name);
    const place = former ?? lastLine(text, value, to);
    return place && join(text.slice(0, place.from), indented(lines, place.indent), text.slice(place.to));
  }
  // The value is `{}`, `~` or nothing, perhaps with a comment after it.
  const [start, end] = (isMap(value) || isScalar(value) ? value.range : undefined) ?? [to, to];
  return join(text.slice(0, start) + text.slice(end, to), indented(lines, '  '), text.slice(to));
}

function lastLine(text: string, { items: [first] }: YAMLMap, end: number): EntryLines | undefined {
  const [start] = (isScalar(first?.key) ? first.key.range : undefined) ?? [];
  if (start === undefined) return undefined;
  const indent = text.slice(lineStart(text, start), start);
  return indent.trim() === '' ? { from: end, to: end, indent } : undefined;
}

function join(before: string, lines: string, after: string): string {
  const eol = lineEndOf(before + after);
  const gap = before === '' || before.endsWith('\n') ? '' : eol;
  return `${before}${gap}${lines.replaceAll('\n', eol)}${eol}${after}`;
}

function cut(text: string, table: string, name: string): string | undefined {
  const root = documentOf(text, 'failsafe').contents;
  const found = isMap(root) ? linesOf(text, root, table) : undefined;
  if (!found || !isMap(found.value)) return undefined;
  const entry = linesOf(text, found.value, name);
  if (!entry) return undefined;
  const rest = text.slice(0, entry.from) + text.slice(entry.to);
  if (found.value.items.length > 1) return rest;
  const left = text.slice(found.from, entry.from) + text.slice(entry.to, found.to);
  const others = text.slice(0, found.from) + text.slice(found.to);
  if (!left.includes('#')) return others;
  return `${text.slice(0, found.from)}${left.replace(':', ': {}')}${text.slice(found.to)}`;
}

/** Applies `change` to the document and renders it. Comments stay, the layout does not. */
function rewrite(text: string, change: (document: ReturnType<typeof documentOf>) => void): string {
  const document = documentOf(text, 'failsafe');
  try {
    change(document);
  } catch (cause) {
    throw new UnreadableConfig('its table is written in a way that cannot be changed', { cause });
  }
  return document.toString({ lineWidth: 0 }).replaceAll('\n', lineEndOf(text));
}

const holds = (wanted: Values, table: string) => (text: string) =>
  sameValues(withoutEmpty(exact(text, table), table), wanted);

export const yamlEditor: Editor = {
  read,
  print,
  put(text, table, name, entry) {
    const written = tableOf(exact(print(table, name, entry), table)[table], table)[name];
    return firstThat(
      holds(withEntry(exact(text, table), table, name, written), table),
      () => insert(text, table, name, entry),
      () => rewrite(text, (document) => document.setIn([table, name], document.createNode(written))),
    );
  },
  drop(text, table, name) {
    return firstThat(
      holds(withoutEntry(exact(text, table), table, name), table),
      () => cut(text, table, name),
      () => rewrite(text, (document) => void document.deleteIn([table, name])),
    );
  },
};
