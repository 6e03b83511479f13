import { checkNesting, countOperators } from './check-nesting.ts';

/**
 * Validation takes time for each operator and each letter, up to seconds at these bounds, and nothing else is done by the
 * process meanwhile.
 */
const MAX_LETTERS = 131_072;
const MAX_OPERATORS = 4_000;

const tooMany = (what: string, count: number, most: number) =>
  `policies have ${count} ${what} together, at most ${most} are read: shorten or remove some`;

/** What is too much in the policies of one set together: it is not to be parsed. Empty: nothing. */
export function checkWeight(texts: readonly string[]): string[] {
  const letters = texts.reduce((sum, { length }) => sum + length, 0);
  const operators = texts.reduce((sum, text) => sum + countOperators(text), 0);
  if (letters <= MAX_LETTERS && operators <= MAX_OPERATORS) return [];
  // One policy that is too much by itself says better what is wrong.
  const single = texts.flatMap((text, index) => {
    const problem = checkNesting(text);
    return problem === undefined ? [] : [`policies[${index}] ${problem}`];
  });
  if (single.length > 0) return single;
  if (letters > MAX_LETTERS) return [tooMany('characters', letters, MAX_LETTERS)];
  return [tooMany('operators', operators, MAX_OPERATORS)];
}
