import { isNode, isScalar, Lexer, type Node, type ParsedNode, visit } from 'yaml';

/** How much a YAML text may hold that somebody else wrote. */
export interface YamlBounds {
  /** UTF-8. */
  bytes: number;
  /** Words and signs, spaces among them: some nine for a line `name: value`. */
  tokens: number;
  /** Lists and mappings within each other. */
  depth: number;
}

/** Of a block that a ConfigMap holds, which takes no more bytes: thousands of lines, read in a fraction of a second. */
export const BLOCK_BOUNDS: YamlBounds = { bytes: 1_048_576, tokens: 20_000, depth: 100 };

const BAD_ESCAPE = 'a text in double quotes holds an unknown escape; write \\\\ for a backslash';
/** What the library's lexer says before a text without quotes. */
const TEXT_FOLLOWS = '\u001F';

/** What they add to the depth; of marks, until the line ends. */
const BRACKETS = new Map([
  ['[', 1],
  ['{', 1],
  [']', -1],
  ['}', -1],
]);
const MARKS = new Map([
  ['-', 1],
  ['?', 1],
]);

/**
 * Why a text is not parsed, and what to do; undefined: it may be. The library takes the square of the depth, and some microseconds
 * and hundreds of bytes for each token and each error: this is told without it.
 */
export function refusalOf(text: string, { bytes, tokens, depth }: YamlBounds): string | undefined {
  if (Buffer.byteLength(text) > bytes) return `longer than ${bytes} bytes; shorten it`;
  let [count, open, inLine, isText] = [0, 0, 0, false];
  for (const token of new Lexer().lex(text)) {
    count += 1;
    if (count > tokens) return `more than ${tokens} words and signs; remove entries`;
    if (isText || token === TEXT_FOLLOWS) {
      isText = !isText;
      continue;
    }
    if (token.startsWith('"') && hasBadEscape(token)) return BAD_ESCAPE;
    open += BRACKETS.get(token) ?? 0;
    inLine = token === '\n' ? 0 : inLine + (MARKS.get(token) ?? 0);
    if (Math.max(open, inLine) > depth) return `nested more than ${depth} deep; make it flatter`;
  }
  return undefined;
}

/** YAML 1.2 §5.7; a backslash by itself where none of them stands. */
const ESCAPES = /\\(?:[0abefnrtvNLP_ "/\\\t\r\n]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U00(?:0[\da-fA-F]|10)[\da-fA-F]{4})|\\/g;

function hasBadEscape(quoted: string): boolean {
  for (const [escape] of quoted.matchAll(ESCAPES)) if (escape.length === 1) return true;
  return false;
}

/** The first key that stands twice in one mapping. The library's own search for them compares each with each. */
export function repeatedKey(document: { contents: ParsedNode | Node | null }): Node | undefined {
  let repeated: Node | undefined;
  visit(document.contents, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name) && isNode(key)) {
          repeated = key;
          return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return repeated;
}
