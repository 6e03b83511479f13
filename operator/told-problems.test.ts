import { expect, it } from '@jest/globals';
import { ToldProblems } from './told-problems.ts';

const key = (name: string) => ({ kind: 'MCPServer', namespace: 'default', name }) as const;
const busy = new Error('port 4483 is in use');

it('ToldProblems accepts an unchanged problem once per resource', () => {
  const told = new ToldProblems();
  expect([told.note(key('a'), busy), told.note(key('b'), busy), told.note(key('a'), busy)]).toEqual([
    true,
    true,
    false,
  ]);
});

it('ToldProblems accepts a problem again after another one, and after it was solved', () => {
  const told = new ToldProblems();
  told.note(key('a'), busy);
  expect(told.note(key('a'), new Error('other'))).toBe(true);
  expect(told.note(key('a'), busy)).toBe(true);
  told.solved(key('a'));
  expect(told.note(key('a'), busy)).toBe(true);
});
