import { parseDocument, stringify } from 'yaml';
import { BLOCK_BOUNDS, refusalOf, repeatedKey } from './yaml-bounds.ts';

/** Returns why the text of a ConfigMap is not parsed, and how to fix it. Returns undefined where `readText` may read it. */
export const refusalOfBlock = (text: string): string | undefined => refusalOf(text, BLOCK_BOUNDS);

/** Parses YAML or JSON. @throws YAMLParseError, or TypeError for a repeated key */
export function readText(text: string): unknown {
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'silent' });
  const [error] = document.errors;
  if (error) throw error;
  if (repeatedKey(document)) throw new TypeError('the same key twice in one mapping; remove one');
  return document.toJS({ maxAliasCount: 0 });
}

/** Writes a value as YAML. Returns the same text for the same value. */
export function writeText(value: unknown): string {
  return stringify(value, { lineWidth: 120, aliasDuplicateObjects: false });
}
