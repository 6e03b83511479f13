import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type YAMLMap,
} from 'yaml';
import { repeatedKey } from '#operator/yaml-bounds';
import { offsetInScalar } from './offset-in-scalar.ts';
import type { ManifestFile, Position, Problem } from './resource.ts';

/** Bytes; no user writes a larger manifest, and it would cost memory. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_DOCUMENTS = 1000;
/** Aliases that reference each other would grow without limit. */
const MAX_ALIASES = 100;
const MAX_DEPTH = 1000;
const TOO_DEEP = 'nested too deeply; make it flatter';

export interface YamlDocument {
  value: unknown;
  /** Counted from 1. */
  line: number;
  /** Returns the line of its key if it has one; undefined when the field is not written. */
  lineOf: (path: (string | number)[]) => number | undefined;
  /** Returns undefined when it cannot be determined. */
  positionOf: (path: (string | number)[], within: Position) => Position | undefined;
}

/** Never throws, and never repeats file content. */
export function readYamlDocuments({ file, text }: ManifestFile): { documents: YamlDocument[]; problems: Problem[] } {
  const lines = new LineCounter();
  try {
    checkSize(text);
    // The library compares each key with each other key to find duplicates, which takes quadratic time.
    const options = { lineCounter: lines, prettyErrors: false, merge: true, uniqueKeys: false } as const;
    const parsed = parseAllDocuments(text, { ...options, logLevel: 'silent' });
    const documents = Array.isArray(parsed) ? parsed.filter((document) => !isEmpty(document)) : [];
    if (documents.length > MAX_DOCUMENTS) {
      throw new Unreadable(`has more than ${MAX_DOCUMENTS} documents; split it into several files`);
    }
    for (const document of documents) checkDocument(document);
    return { documents: documents.map((document) => positioned(document, text, lines)), problems: [] };
  } catch (error) {
    const { message, offset } = asUnreadable(error);
    return { documents: [], problems: [{ file, line: lineAt(lines, offset), path: '', message, unreadable: true }] };
  }
}

class Unreadable extends Error {
  readonly offset: number;
  constructor(message: string, offset = 0) {
    super(message);
    this.offset = offset;
  }
}

/** The library throws for unresolvable references and when nesting exhausts the stack. */
function asUnreadable(error: unknown): Unreadable {
  if (error instanceof Unreadable) return error;
  if (error instanceof RangeError) return new Unreadable(TOO_DEEP);
  if (!(error instanceof ReferenceError)) throw error;
  const tooMany = error.message.startsWith('Excessive');
  const what = tooMany ? `has more than ${MAX_ALIASES} aliases` : 'an alias names no anchor that stands before it';
  return new Unreadable(`${what}; write the values out`);
}

function checkSize(text: string): void {
  if (Buffer.byteLength(text) > MAX_BYTES) {
    throw new Unreadable(`larger than ${MAX_BYTES} bytes; split it into several files`);
  }
  // Unclosed brackets cost the library time quadratic in their number.
  let open = 0;
  for (const sign of text) {
    if (sign === '[' || sign === '{') open++;
    if (sign === ']' || sign === '}') open--;
    if (open > MAX_DEPTH) throw new Unreadable(TOO_DEEP);
  }
}

function checkDocument(document: Document.Parsed): void {
  const [error] = document.errors;
  if (error !== undefined)
    throw new Unreadable(
      `${YAML_ERRORS[error.code] ?? 'not valid YAML'}; look at this line and its neighbours`,
      error.pos[0],
    );
  const repeated = repeatedKey(document);
  if (repeated) throw new Unreadable('the same key twice in one mapping; remove one', repeated.range?.[0]);
}

const isEmpty = ({ contents, errors }: Document.Parsed) =>
  errors.length === 0 && (contents === null || (isScalar(contents) && contents.value === null));

const lineAt = (lines: LineCounter, offset: number) => Math.max(1, lines.linePos(offset).line);

function positioned(document: Document.Parsed, text: string, lines: LineCounter): YamlDocument {
  const lineOfNode = (node: unknown) => {
    const range = isNode(node) ? (node as Node).range : undefined;
    return range ? lineAt(lines, range[0]) : undefined;
  };
  const pairOf = rememberPairs();
  return {
    value: document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown,
    line: lineOfNode(document.contents) ?? 1,
    lineOf: (path) => lineOfNode(nodesAt(document, path, pairOf)?.place),
    positionOf(path, within) {
      const written = nodesAt(document, path, pairOf)?.value;
      const node = isAlias(written) ? written.resolve(document) : written;
      const offset = isScalar(node) ? offsetInScalar(text, node, within) : undefined;
      if (offset === undefined) return undefined;
      const { line, col: column } = lines.linePos(offset);
      return { line, column };
    },
  };
}

type PairOf = (map: YAMLMap, name: string) => Pair | undefined;

/** Reads each mapping once, however many of its fields are requested. */
function rememberPairs(): PairOf {
  const known = new Map<YAMLMap, Map<string, Pair>>();
  return (map, name) => {
    const pairs =
      known.get(map) ??
      new Map(map.items.flatMap((pair) => (isScalar(pair.key) ? [[String(pair.key.value), pair] as const] : [])));
    known.set(map, pairs);
    return pairs.get(name);
  };
}

interface Nodes {
  /** Key of the field, or the entry in a list. */
  place: unknown;
  value: unknown;
}

function nodesAt(document: Document, path: (string | number)[], pairOf: PairOf): Nodes | undefined {
  let value: unknown = document.contents;
  let place: unknown = value;
  for (const step of path) {
    const container = isAlias(value) ? value.resolve(document) : value;
    if (isMap(container)) {
      const pair = pairOf(container, String(step));
      if (pair === undefined) return undefined;
      [place, value] = [pair.key, pair.value];
    } else if (isSeq(container)) {
      place = value = container.items[Number(step)];
    } else {
      return undefined;
    }
  }
  return { place, value };
}

/** The library's messages repeat parts of the text, which may be a secret. */
const YAML_ERRORS: Partial<Record<string, string>> = {
  BAD_ALIAS: 'an alias names no anchor',
  BAD_DQ_ESCAPE: 'a text in double quotes holds an unknown escape',
  BAD_INDENT: 'the indentation does not fit what stands above, or a closing bracket is missing',
  BAD_SCALAR_START: 'a text starts with a sign that needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a line is indented below one that already has a value, or two keys stand on one line',
  BLOCK_IN_FLOW: 'an indented block stands inside brackets or braces',
  MISSING_CHAR: 'a quote, bracket, brace, colon or comma is missing',
  MULTILINE_IMPLICIT_KEY: 'a key goes over several lines, or the colon after it is missing',
  TAB_AS_INDENT: 'a tab is used for indentation, where YAML wants spaces',
  TAG_RESOLVE_FAILED: 'a tag cannot be resolved',
  UNEXPECTED_TOKEN: 'something stands where nothing may',
};
