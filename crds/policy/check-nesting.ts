/** Cedar recurses; a stack overflow breaks its WebAssembly for all later calls. Nesting breaks at 200, a chain of operators at 4,000. */
const MAX_NESTING = 48;
const MAX_OPERATORS = 1_000;

const TOKENS = /"(?:\\[^]|[^"\\])*"|\/\/[^\n\r]*|[([{]|[)\]}]|\|\||&&|[-+*.!;]|\b(?:if|when|unless)\b/g;
const OPENING = new Set(['(', '[', '{']);
const CLOSING = new Set([')', ']', '}']);

/** Counts the operators, brackets and conditions of all policies in a text, plus one per policy. */
export function countOperators(text: string): number {
  let operators = 0;
  for (const [token] of text.matchAll(TOKENS)) {
    if (!token.startsWith('"') && !token.startsWith('//') && !CLOSING.has(token)) operators += 1;
  }
  return operators;
}

/** Describes nesting or length that Cedar cannot read safely; undefined if there is none. Reads the text once. */
export function checkNesting(text: string): string | undefined {
  let depth = 0;
  let operators = 0;
  let conditionals = 0;
  for (const [token] of text.matchAll(TOKENS)) {
    if (token.startsWith('"') || token.startsWith('//')) continue;
    if (OPENING.has(token)) depth += 1;
    else if (CLOSING.has(token)) depth -= 1;
    else if (token === 'if') conditionals += 1;
    if (token === ';' && depth === 0) operators = conditionals = 0;
    else if (!CLOSING.has(token)) operators += 1;
    if (depth + conditionals > MAX_NESTING) return `is nested deeper than ${MAX_NESTING} levels: split it`;
    if (operators > MAX_OPERATORS) return `has more than ${MAX_OPERATORS} operators: split it`;
  }
  return undefined;
}
