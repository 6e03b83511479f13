import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import LongestFirst, { LONGEST } from './longest-first.ts';

const ROOT = join(import.meta.dirname, '..');
const pathsOf = (...files: string[]) => files.map((path) => ({ path: join(ROOT, path) }));

describe('the list of the longest test files', () => {
  it.each(LONGEST)('has only files that exist: %s', (file) => {
    expect(existsSync(join(ROOT, `${file}.test.ts`))).toBe(true);
  });
});

describe('LongestFirst', () => {
  it('orders the longest files first, and the others by size', () => {
    const [small, large] = ['scripts/e2e-lanes.test.ts', 'scripts/merge-reports.test.ts'];
    const listed = LONGEST.slice(0, 2).map((file) => `${file}.test.ts`);
    const tests = pathsOf(small, large, ...listed.toReversed());
    expect(new LongestFirst().sort(tests)).toEqual(pathsOf(...listed, large, small));
  });
});
