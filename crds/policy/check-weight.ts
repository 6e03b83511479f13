import { checkNesting, countOperators } from './check-nesting.ts';

/** Validation time grows with operators and letters, up to seconds at these limits, and blocks the process. */
const MAX_LETTERS = 131_072;
const MAX_OPERATORS = 4_000;

const tooMany = (what: string, count: number, most: number) =>
  `policies have ${count} ${what} together, at most ${most} are read: shorten or remove some`;

/** Describes how the policies of one set together exceed the limits for parsing. Returns an empty list if they do not. */
export function checkWeight(texts: readonly string[]): string[] {
  const letters = texts.reduce((sum, { length }) => sum + length, 0);
  const operators = texts.reduce((sum, text) => sum + countOperators(text), 0);
  if (letters <= MAX_LETTERS && operators <= MAX_OPERATORS) return [];
  // A message about a single policy beyond the limits is more precise.
  const single = texts.flatMap((text, index) => {
    const problem = checkNesting(text);
    return problem === undefined ? [] : [`policies[${index}] ${problem}`];
  });
  if (single.length > 0) return single;
  if (letters > MAX_LETTERS) return [tooMany('characters', letters, MAX_LETTERS)];
  return [tooMany('operators', operators, MAX_OPERATORS)];
}
