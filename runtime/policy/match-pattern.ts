import type { PatternElem } from '@cedar-policy/cedar-wasm/nodejs';

/** Compiles the pattern of Cedar's `like`. Matching is linear in the number of wildcards, as it never backtracks. */
export function createPatternMatcher(pattern: readonly PatternElem[]): (text: string) => boolean {
  const [first = '', ...rest] = splitAtWildcards(pattern);
  const last = rest.pop();
  if (last === undefined) return (text) => text === first;
  return (text) => {
    const end = text.length - last.length;
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

/** Returns the literal texts before, between and after the wildcards. Cedar's JSON form has one element for each character. */
function splitAtWildcards(pattern: readonly PatternElem[]): readonly string[] {
  let part = '';
  const parts: string[] = [];
  for (const element of pattern) {
    if (element === 'Wildcard') {
      parts.push(part);
      part = '';
    } else part += element.Literal;
  }
  return [...parts, part];
}
