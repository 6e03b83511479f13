import { describe, expect, it } from '@jest/globals';
import { isScalar, parseDocument, visit } from 'yaml';
import { offsetInScalar } from './offset-in-scalar.ts';

/** Returns the text from the position of `B` in the value onwards. */
function fromB(text: string): string | undefined {
  let found: string | undefined;
  visit(parseDocument(text), {
    Scalar(key, node) {
      if (key !== 'value' || !isScalar<string>(node)) return;
      const lines = node.value.split('\n');
      const line = lines.findIndex((one) => one.includes('B'));
      const at = offsetInScalar(text, node, { line: line + 1, column: (lines[line]?.indexOf('B') ?? 0) + 1 });
      found = at === undefined ? undefined : text.slice(at);
    },
  });
  return found;
}

describe('offsetInScalar', () => {
  it.each(['\\N', '\\_', '\\L', '\\P', '\\t', '\\0', '\\x85', '\\xa0', '\\u2028', '\\"'])(
    'counts the escape %s as its value',
    (escape) => {
      expect(fromB(`key: "a${escape}B rest"\n`)).toBe('B rest"\n');
    },
  );
});
