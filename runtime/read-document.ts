import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { ConfigError } from '#runtime/errors';

type Path = readonly (string | number)[];

export interface ReadDocument {
  readonly value: unknown;
  /** Returns the line (from 1) of the key or list item at this path; undefined if it is not in the text. */
  readonly lineOf: (path: Path) => number | undefined;
}

/** Reads one YAML 1.2 or JSON document. Repeated keys and multiple documents are errors. @throws ConfigError that names file and line */
export function readDocument(text: string, file: string): ReadDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const error = document.errors[0];
  if (error !== undefined) {
    throw new ConfigError(`${file}:${lines.linePos(error.pos[0]).line} ${error.message}`, { cause: error });
  }
  return {
    value: toValue(document, file),
    lineOf(path) {
      const offset = offsetOf(document.contents, path);
      return offset === undefined ? undefined : lines.linePos(offset).line;
    },
  };
}

function toValue(document: { toJS: (options: { maxAliasCount: number }) => unknown }, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    throw new ConfigError(`${file}:1 aliases are nested too deeply or too often`, { cause });
  }
}

function offsetOf(root: unknown, path: Path): number | undefined {
  let node = root;
  let offset = startOf(root);
  for (const step of path) {
    const next = childOf(node, step);
    if (next === undefined) return undefined;
    offset = next.offset;
    node = next.node;
  }
  return offset;
}

function childOf(node: unknown, step: string | number): { node: unknown; offset: number } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(step)];
    return item === undefined ? undefined : { node: item, offset: startOf(item) };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
  return pair === undefined ? undefined : { node: pair.value, offset: startOf(pair.key) };
}

function startOf(node: unknown): number {
  const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined;
  const start: unknown = Array.isArray(range) ? range[0] : undefined;
  return typeof start === 'number' ? start : 0;
}
