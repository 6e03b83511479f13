import { isNode, isScalar, Lexer, type Node, type ParsedNode, visit } from 'yaml';

export interface YamlBounds {
  /** UTF-8. */
  bytes: number;
  /** Lexer tokens, including spaces: about nine for a line `name: value`. */
  tokens: number;
  depth: number;
}

/** Limits of a block in a ConfigMap, which is not larger: thousands of lines, read in a fraction of a second. */
export const BLOCK_BOUNDS: YamlBounds = { bytes: 1_048_576, tokens: 20_000, depth: 100 };

const BAD_ESCAPE = 'a text in double quotes holds an unknown escape; write \\\\ for a backslash';
/** The lexer's token before a plain scalar. */
const TEXT_FOLLOWS = '\u001F';

/** Change of the depth per token; that of indicators lasts until the end of the line. */
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

/** Returns why a text is not parsed. The parser takes time quadratic in the depth, and microseconds and hundreds of bytes per token. */
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

/** YAML 1.2 §5.7; otherwise a single backslash. */
const ESCAPES = /\\(?:[0abefnrtvNLP_ "/\\\t\r\n]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U00(?:0[\da-fA-F]|10)[\da-fA-F]{4})|\\/g;

function hasBadEscape(quoted: string): boolean {
  for (const [escape] of quoted.matchAll(ESCAPES)) if (escape.length === 1) return true;
  return false;
}

/** Returns the first repeated key of a mapping. The library compares every key with every other. */
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
