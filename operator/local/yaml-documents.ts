import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
} from 'yaml';
import type { ManifestFile, Problem } from './resource.ts';

/** More is no manifest that a person wrote, and would only take memory. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_DOCUMENTS = 1000;
/** Aliases that are followed in one document: a few that refer to each other would otherwise grow without end. */
const MAX_ALIASES = 100;

/** One document of a file: what it says, and where it says it. */
export interface YamlDocument {
  value: unknown;
  /** First line, counted from 1. */
  line: number;
  /** Line of a field, of its key where it has one; undefined for what is not written. */
  lineOf: (path: (string | number)[]) => number | undefined;
}

/** The documents of a file, or why it cannot be read as YAML. Never throws, and never repeats what the file says. */
export function readYamlDocuments({ file, text }: ManifestFile): { documents: YamlDocument[]; problems: Problem[] } {
  const unreadable = (line: number, message: string) => ({
    documents: [],
    problems: [{ file, line, path: '', message, unreadable: true }],
  });
  if (Buffer.byteLength(text) > MAX_BYTES) {
    return unreadable(1, `larger than ${MAX_BYTES} bytes; split it into several files`);
  }
  const lines = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  try {
    const parsed = parseAllDocuments(text, {
      lineCounter: lines,
      prettyErrors: false,
      merge: true,
      logLevel: 'silent',
    });
    const documents = Array.isArray(parsed) ? parsed : [];
    if (documents.length > MAX_DOCUMENTS) {
      return unreadable(1, `has more than ${MAX_DOCUMENTS} documents; split it into several files`);
    }
    const [error] = documents.flatMap((document) => document.errors);
    if (error !== undefined)
      return unreadable(lineAt(error.pos[0]), `${YAML_ERRORS[error.code] ?? 'not valid YAML'}; mend it`);
    const written = documents.filter((document) => document.contents !== null && !isEmpty(document));
    return { documents: written.map((document) => positioned(document, lineAt)), problems: [] };
  } catch (error) {
    // The library throws for too many aliases, and when nesting exhausts the stack.
    if (error instanceof ReferenceError)
      return unreadable(1, `has more than ${MAX_ALIASES} aliases; write the values out`);
    if (error instanceof RangeError) return unreadable(1, 'nested too deeply; make it flatter');
    throw error;
  }
}

const isEmpty = (document: Document) => isScalar(document.contents) && document.contents.value === null;

function positioned(document: Document.Parsed, lineAt: (offset: number) => number): YamlDocument {
  const lineOfNode = (node: unknown) => {
    const range = isNode(node) ? (node as Node).range : undefined;
    return range ? lineAt(range[0]) : undefined;
  };
  return {
    value: document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown,
    line: lineOfNode(document.contents) ?? 1,
    lineOf: (path) => lineOfNode(nodeAt(document, path)),
  };
}

/** The key of the last step of a path, or the entry where it is a list's. */
function nodeAt(document: Document, path: (string | number)[]): unknown {
  let value: unknown = document.contents;
  let place: unknown = value;
  for (const step of path) {
    const container = isAlias(value) ? value.resolve(document) : value;
    if (isMap(container)) {
      const pair = container.items.find(({ key }) => (isScalar(key) ? String(key.value) : undefined) === String(step));
      if (pair === undefined) return undefined;
      [place, value] = [pair.key, pair.value];
    } else if (isSeq(container)) {
      place = value = container.items[Number(step)];
    } else {
      return undefined;
    }
  }
  return place;
}

/** In words of our own: the library's repeat parts of the text, which may be a secret. */
const YAML_ERRORS: Partial<Record<string, string>> = {
  BAD_ALIAS: 'an alias names no anchor',
  BAD_DQ_ESCAPE: 'a text in double quotes holds an unknown escape',
  BAD_INDENT: 'the indentation does not fit what stands above',
  BAD_SCALAR_START: 'a text starts with a sign that needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a nested mapping stands on the line of its key',
  BLOCK_IN_FLOW: 'an indented block stands inside brackets or braces',
  DUPLICATE_KEY: 'the same key twice in one mapping',
  MISSING_CHAR: 'a quote, bracket, brace, colon or comma is missing',
  MULTILINE_IMPLICIT_KEY: 'a key goes over several lines, or the colon after it is missing',
  TAB_AS_INDENT: 'a tab is used for indentation, where YAML wants spaces',
  TAG_RESOLVE_FAILED: 'a tag cannot be resolved',
  UNEXPECTED_TOKEN: 'something stands where nothing may',
};
