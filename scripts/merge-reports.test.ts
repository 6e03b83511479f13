import { describe, expect, it } from '@jest/globals';
import { filesToRepeat, mergeReports, Report } from './merge-reports.ts';

const ROOT = '/work';

/** A file in a jest report: each test with its result, and in `outside` a failure outside of its tests. */
function file(name: string, tests: Record<string, string>, outside?: string) {
  const assertionResults = Object.entries(tests).map(([title, status]) => ({
    ancestorTitles: ['a place'],
    title,
    status,
    failureMessages: status === 'failed' ? [`\u001b[31mError: ${title} is late\u001b[39m\n    at once`] : [],
  }));
  const failed = outside !== undefined || Object.values(tests).includes('failed');
  return { name: `${ROOT}/${name}`, status: failed ? 'failed' : 'passed', message: outside ?? '', assertionResults };
}

const report = (...testResults: ReturnType<typeof file>[]) => Report.parse({ testResults });

describe('mergeReports of one run', () => {
  it('counts its tests, and both kinds of skipped tests', () => {
    const first = report(
      file('a.test.ts', { one: 'passed', two: 'failed', three: 'pending' }),
      file('b.test.ts', { four: 'passed', five: 'todo' }),
    );
    expect(mergeReports(ROOT, first)).toEqual({ counts: { passed: 2, failed: 1, skipped: 2 }, recovered: [] });
  });

  it('counts a file that did not compile, or failed after its tests, as one failure', () => {
    const first = report(file('a.test.ts', {}, 'SyntaxError'), file('b.test.ts', { one: 'passed' }, 'not closed'));
    expect(mergeReports(ROOT, first).counts).toEqual({ passed: 1, failed: 2, skipped: 0 });
  });
});

describe('filesToRepeat', () => {
  const failing = (count: number) =>
    Array.from({ length: count }, (_, index) => file(`${index}.test.ts`, { one: 'failed' }));

  it('returns the files with failures', () => {
    const first = report(file('a.test.ts', { one: 'passed' }), file('b.test.ts', {}, 'SyntaxError'), ...failing(1));
    expect(filesToRepeat(first)).toEqual([`${ROOT}/b.test.ts`, `${ROOT}/0.test.ts`]);
  });

  it('returns none if more than five failed', () => {
    expect(filesToRepeat(report(...failing(5)))).toHaveLength(5);
    expect(filesToRepeat(report(...failing(6)))).toEqual([]);
  });
});

describe('mergeReports of two runs', () => {
  const first = report(
    file('a.test.ts', { one: 'passed', two: 'failed', three: 'passed' }),
    file('b.test.ts', { four: 'passed' }),
  );

  it('counts a test that passes in the second run as passed, and lists it', () => {
    const second = report(file('a.test.ts', { one: 'passed', two: 'passed', three: 'passed' }));
    expect(mergeReports(ROOT, first, second)).toEqual({
      counts: { passed: 4, failed: 0, skipped: 0 },
      recovered: ['a.test.ts › a place › two: Error: two is late'],
    });
  });

  it('counts a test that failed twice, or in the second run only, as failed', () => {
    const twice = report(file('a.test.ts', { one: 'passed', two: 'failed', three: 'passed' }));
    expect(mergeReports(ROOT, first, twice)).toEqual({ counts: { passed: 3, failed: 1, skipped: 0 }, recovered: [] });
    const other = report(file('a.test.ts', { one: 'failed', two: 'passed', three: 'passed' }));
    expect(mergeReports(ROOT, first, other)).toEqual({
      counts: { passed: 3, failed: 1, skipped: 0 },
      recovered: ['a.test.ts › a place › two: Error: two is late'],
    });
  });

  it.each([
    ['lost tests', file('a.test.ts', { one: 'passed' })],
    ['skipped a test', file('a.test.ts', { one: 'passed', two: 'pending', three: 'passed' })],
    ['did not compile', file('a.test.ts', {}, 'SyntaxError')],
    ['were not made', file('other.test.ts', { one: 'passed' })],
  ])('keeps the first result if the second %s', (_, second) => {
    expect(mergeReports(ROOT, first, report(second)).counts).toEqual({ passed: 3, failed: 1, skipped: 0 });
  });

  it('lists a file that failed outside of its tests by its message', () => {
    const broken = report(file('a.test.ts', {}, '  ● Test suite failed to run\n\n    listen EADDRINUSE\n    at net'));
    const merged = mergeReports(ROOT, broken, report(file('a.test.ts', { one: 'passed', two: 'passed' })));
    expect(merged).toEqual({
      counts: { passed: 2, failed: 0, skipped: 0 },
      recovered: ['a.test.ts: listen EADDRINUSE'],
    });
  });
});
