import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkFeatures } from './check-features.ts';

const FILES = [
  'src/door.ts',
  'src/door.test.ts',
  'src/locks/lock.test.ts',
  'src/locks/key.test.ts',
  'src/locks/bolt.test.ts',
  'e2e/house/visit.test.ts',
  'e2e/speed/run.ts',
  'e2e/house/guests.clients.ts',
  'node_modules/other/other.test.ts',
];
/** A row that names a test of every suite. */
const REST = '| The house is tested | `src/door.test.ts`, `e2e/house/visit.test.ts`, `e2e/speed/run.ts` |';

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'vmcp-features-'));
  for (const file of FILES) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    writeFileSync(join(root, file), '');
  }
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const page = (...rows: string[]): string => `# Features\n\n| Feature | Tests |\n|---|---|\n${rows.join('\n')}\n`;
const problems = (...rows: string[]): string[] => checkFeatures(root, page(...rows));

describe('checkFeatures', () => {
  it.each([
    '| The door opens | `src/door.test.ts` |',
    '| The lock holds | `src/locks/lock.test.ts`, `src/locks/key.test.ts`, `src/door.test.ts` |',
    '| The door is fast | `e2e/speed/run.ts` |',
    '| Guests enter | `e2e/house/guests.clients.ts` |',
  ])('accepts %s', (row) => {
    expect(problems(row, REST)).toEqual([]);
  });

  it.each([
    ['| The door opens | `src/gone.test.ts` |', 'src/gone.test.ts does not exist'],
    ['| The door opens | `src/door.ts` |', 'src/door.ts is not a test'],
    ['| The door opens | `src/door.test.ts`, `src/door.test.ts` |', 'names a test file twice'],
    ['| The door opens | by hand |', 'names 0 test files, not 1 to 3'],
    [
      '| The lock holds | `src/locks/lock.test.ts`, `src/locks/key.test.ts`, `src/locks/bolt.test.ts`, `src/door.test.ts` |',
      'names 4 test files, not 1 to 3',
    ],
    ['| The door opens |', 'a row is: feature, tests'],
    ['| | `src/door.test.ts` |', 'a row is: feature, tests'],
  ])('rejects %s', (row, problem) => {
    expect(problems(row, REST)).toEqual([`docs/internals/features.md:5: ${problem}`]);
  });

  it('accepts 200 rows and rejects 201', () => {
    const rows = Array.from({ length: 200 }, () => REST);
    expect(problems(...rows)).toEqual([]);
    expect(problems(...rows, REST)).toEqual(['docs/internals/features.md has 201 rows: at most 200']);
  });

  it('rejects a page that names no test of a suite', () => {
    expect(problems('| The door opens | `src/door.test.ts` |')).toEqual([
      'docs/internals/features.md names no test of e2e/house/',
      'docs/internals/features.md names no test of e2e/speed/',
    ]);
  });

  it('rejects a page without rows', () => {
    expect(checkFeatures(root, '# Features\n')).toEqual(['docs/internals/features.md has no rows']);
  });
});
