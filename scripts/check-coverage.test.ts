import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkCoverage } from './check-coverage.ts';

const TESTS = `
describe('a room', () => {
  it('opens', () => {});
  it.each([{ of: 'a door', text: ')' }])('refuses $of at night', () => {});
  it.each(['bee', 'wasp'])('%s', () => {});
  for (const who of ['cat']) it(\`lets the \${who} in\`, () => {});
  // it('is only a comment', () => {});
});
`;

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'vmcp-coverage-'));
  mkdirSync(join(root, 'src/testdata'), { recursive: true });
  writeFileSync(join(root, 'src/room.ts'), 'export const room = 1;\n');
  writeFileSync(join(root, 'src/room.test.ts'), TESTS);
  writeFileSync(join(root, 'src/testdata/hornet.in.yaml'), 'sting: true\n');
  writeFileSync(join(root, 'src/run.ts'), "const scenario = 'one backend';\n");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const page = (row: string): string => `# Coverage\n\n| Promise | File | Tests |\n|---|---|---|\n${row}\n`;
const problems = (row: string): string[] => checkCoverage(root, page(row));

describe('the coverage page', () => {
  it.each([
    '| opens | `src/room.ts` | `src/room.test.ts: opens` |',
    '| is a room | `src/room.ts` | `src/room.test.ts: a room` |',
    '| is tested | `src/room.ts` | `src/room.test.ts` |',
    '| refuses, either way \\| or both | `src/room.ts` | `src/room.test.ts: refuses $of at night`, `src/room.test.ts: opens` |',
    '| refuses a door | `src/room.ts` | `src/room.test.ts: refuses a door at night` |',
    '| lets cats in | `src/room.ts` | `src/room.test.ts: lets the cat in` |',
    '| knows a bee | `src/room.ts` | `src/room.test.ts: bee` |',
    '| knows a hornet | `src/room.ts` | `src/room.test.ts: hornet` |',
    '| one backend | `src/run.ts` | `src/run.ts: one backend` |',
    '| flies | | open |',
    '| swims | `src/room.ts` | open: needs water |',
  ])('takes %s', (row) => {
    expect(problems(row)).toEqual([]);
  });

  it.each([
    ['| opens | `src/gone.ts` | `src/room.test.ts: opens` |', 'src/gone.ts does not exist'],
    ['| opens | `src/room.ts` | `src/gone.test.ts: opens` |', 'test file src/gone.test.ts does not exist'],
    ['| closes | `src/room.ts` | `src/room.test.ts: closes` |', 'src/room.test.ts has no test "closes"'],
    ['| comments | `src/room.ts` | `src/room.test.ts: is only a comment` |', 'has no test "is only a comment"'],
    ['| knows a fly | `src/room.ts` | `src/room.test.ts: fly` |', 'src/room.test.ts has no test "fly"'],
    ['| refuses a wall | `src/room.ts` | `src/room.test.ts: refuses a wall at night` |', 'has no test "refuses a wall'],
    ['| three | `src/run.ts` | `src/run.ts: three backends` |', 'src/run.ts does not say "three backends"'],
    ['| opens | `src/room.ts` | by hand |', 'names neither a test nor `open`'],
    ['| opens | | `src/room.test.ts: opens` |', 'names no file'],
    ['| opens | `src/room.ts` |', 'a row is: promise, file, tests'],
  ])('refuses %s', (row, problem) => {
    expect(problems(row)).toEqual([expect.stringContaining(problem)]);
    expect(problems(row)[0]).toMatch(/^docs\/coverage\.md:5: /);
  });

  it('has rows', () => {
    expect(checkCoverage(root, '# Coverage\n')).toEqual(['docs/coverage.md has no rows']);
  });
});
