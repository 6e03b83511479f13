import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';

/** Most files with failures that are run again. More failures are not accidental. */
const MOST_FILES = 5;

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export const NONE: Counts = { passed: 0, failed: 0, skipped: 0 };

export function add(total: Counts, counts: Counts): Counts {
  const sum = (key: keyof Counts) => total[key] + counts[key];
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

const FileReport = z.object({
  /** Absolute path. */
  name: z.string(),
  status: z.string(),
  /** Why the file failed; the only content for a file that could not run. */
  message: z.string(),
  assertionResults: z.array(
    z.object({
      ancestorTitles: z.array(z.string()),
      title: z.string(),
      status: z.string(),
      failureMessages: z.array(z.string()).nullish(),
    }),
  ),
});
type FileReport = z.infer<typeof FileReport>;

/** The fields of jest's `--json` output that this script reads. */
export const Report = z.object({ testResults: z.array(FileReport) });
export type Report = z.infer<typeof Report>;

/** Counts one file. A failure outside of its tests counts as one. */
function countFile({ status, assertionResults }: FileReport): Counts {
  const having = (wanted: string) => assertionResults.filter((test) => test.status === wanted).length;
  const [passed, failed] = [having('passed'), having('failed')];
  const outside = status === 'failed' && failed === 0 ? 1 : 0;
  return { passed, failed: failed + outside, skipped: assertionResults.length - passed - failed };
}

/** Returns the number of its tests that were not skipped. */
const ran = ({ assertionResults }: FileReport): number =>
  assertionResults.filter(({ status }) => status === 'passed' || status === 'failed').length;

/** Returns the absolute paths of files with failures. */
function failedFiles({ testResults }: Report): string[] {
  return testResults.filter((file) => countFile(file).failed > 0).map(({ name }) => name);
}

/** Returns the files for a second run: those with failures, unless they are many. */
export function filesToRepeat(first: Report): string[] {
  const files = failedFiles(first);
  return files.length > MOST_FILES ? [] : files;
}

function firstLine(message: string | undefined): string {
  const lines = stripVTControlCharacters(message ?? '').split('\n');
  return lines.map((line) => line.trim()).find((line) => line !== '' && !line.startsWith('●')) ?? 'no message';
}

/** Returns the tests that failed only in the first run, as lines `titles: message`. */
function recoveredIn(first: FileReport, second: FileReport): string[] {
  const failures = first.assertionResults.flatMap((test, index) => {
    if (test.status !== 'failed' || second.assertionResults[index]?.status !== 'passed') return [];
    return [` › ${[...test.ancestorTitles, test.title].join(' › ')}: ${firstLine(test.failureMessages?.[0])}`];
  });
  const failedOutside =
    countFile(first).failed > 0 && !first.assertionResults.some(({ status }) => status === 'failed');
  const passes = countFile(second).failed === 0;
  return failedOutside && passes ? [`: ${firstLine(first.message)}`] : failures;
}

/** The result of two runs. */
export interface Merged {
  counts: Counts;
  /** `file › titles: message` of tests that failed in the first run and passed in the second. */
  recovered: string[];
}

/**
 * Merges the counts of a run and the second run of its files with failures. The second run of a file replaces the first, unless fewer tests
 * ran. Every test counts once. @param root base of the file paths
 */
export function mergeReports(root: string, first: Report, second: Report = { testResults: [] }): Merged {
  const again = new Map(second.testResults.map((file) => [file.name, file]));
  const merged: Merged = { counts: NONE, recovered: [] };
  for (const file of first.testResults) {
    const repeated = again.get(file.name);
    if (repeated === undefined || ran(repeated) < ran(file)) {
      merged.counts = add(merged.counts, countFile(file));
      continue;
    }
    merged.counts = add(merged.counts, countFile(repeated));
    merged.recovered.push(...recoveredIn(file, repeated).map((line) => relative(root, file.name) + line));
  }
  return merged;
}
