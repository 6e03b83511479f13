import type { Format } from './clients.ts';
import {
  type Editor,
  sameValues,
  tableOf,
  UnreadableConfig,
  type Values,
  withEntry,
  withoutEmpty,
  withoutEntry,
} from './config-editor.ts';
import { jsonEditor } from './edit-json.ts';
import { tomlEditor } from './edit-toml.ts';
import { yamlEditor } from './edit-yaml.ts';

export const EDITORS: Record<Format, Editor> = {
  json: jsonEditor(false),
  jsonc: jsonEditor(true),
  toml: tomlEditor,
  yaml: yamlEditor,
};

/** Returns the entry of this name; undefined if there is none. @throws UnreadableConfig */
export function entryIn(text: string, format: Format, table: string, name: string): Values | undefined {
  const servers = EDITORS[format].read(text.replace(/^\uFEFF/, ''))[table];
  if (servers === undefined || servers === null) return undefined;
  const entry = tableOf(servers, table)[name];
  return entry === undefined ? undefined : tableOf(entry, `${table}.${name}`);
}

/** Makes no other change. @throws UnreadableConfig, also if the result differs from the intended values */
export function putEntry(text: string, format: Format, table: string, name: string, entry: Values): string {
  const editor = EDITORS[format];
  return edit(text, editor, {
    table,
    change: (plain) => editor.put(plain, table, name, entry),
    wanted: (values) => withEntry(values, table, name, entry),
  });
}

/** @throws UnreadableConfig as `putEntry` */
export function dropEntry(text: string, format: Format, table: string, name: string): string {
  if (entryIn(text, format, table, name) === undefined) return text;
  const editor = EDITORS[format];
  return edit(text, editor, {
    table,
    change: (plain) => editor.drop(plain, table, name),
    wanted: (values) => withoutEntry(values, table, name),
  });
}

interface Edit {
  table: string;
  change: (text: string) => string;
  wanted: (values: Values) => Values;
}

function edit(text: string, editor: Editor, { table, change, wanted }: Edit): string {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const plain = text.slice(mark.length);
  const values = wanted(editor.read(plain));
  const changed = change(plain);
  if (sameValues(withoutEmpty(editor.read(changed), table), values)) return mark + changed;
  throw new UnreadableConfig('it is written in a way that cannot be changed safely');
}
