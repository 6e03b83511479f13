// Checks docs/internals/features.md: each row is a feature and one to three test files, and each suite has a row.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = 'docs/internals/features.md';
const MOST_ROWS = 200;
const MOST_FILES = 3;

/** Programs that are tests without jest: conformance, fuzzing, soak, benchmarks, external clients. */
const TESTS = /\.test\.ts$|^e2e\/.+\/(run|[\w-]+\.clients)\.ts$/;

const SUITES = ['*/**/*.test.ts', 'e2e/**/run.ts'];

interface Row {
  readonly line: number;
  readonly cells: readonly string[];
}

const isRule = (line = ''): boolean => /^\|[\s:|-]+$/.test(line);

/** Returns the rows of all tables, without their headings. */
function rowsOf(page: string): Row[] {
  const lines = page.split('\n');
  return lines.flatMap((text, index) => {
    if (!text.startsWith('|') || isRule(text) || isRule(lines[index + 1])) return [];
    return [
      {
        line: index + 1,
        cells: text
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      },
    ];
  });
}

const filesOf = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);

function checkFile(root: string, file: string): string[] {
  if (!existsSync(join(root, file))) return [`${file} does not exist`];
  return TESTS.test(file) ? [] : [`${file} is not a test`];
}

function checkRow(root: string, { cells }: Row): string[] {
  const [feature = '', tests] = cells;
  if (cells.length !== 2 || feature === '') return ['a row is: feature, tests'];
  const files = filesOf(tests);
  const problems = [...new Set(files)].flatMap((file) => checkFile(root, file));
  if (files.length === 0 || files.length > MOST_FILES) problems.push(`names ${files.length} test files, not 1 to 3`);
  if (new Set(files).size < files.length) problems.push('names a test file twice');
  return problems;
}

/** Returns the suite of a test: its top folder, and the folder below `e2e`. */
function suiteOf(file: string): string {
  const folders = file.split('/').slice(0, -1);
  return folders.slice(0, folders[0] === 'e2e' ? 2 : 1).join('/');
}

function unnamedSuites(root: string, named: readonly string[]): string[] {
  const found = globSync(SUITES, { cwd: root, exclude: (name) => name === 'node_modules' || name === 'dist' });
  const reached = new Set(named.map(suiteOf));
  return [...new Set(found.map(suiteOf))].filter((suite) => !reached.has(suite)).sort();
}

/** Returns the problems of the page, one line each. */
export function checkFeatures(root: string, page = readFileSync(join(root, PAGE), 'utf8')): string[] {
  const rows = rowsOf(page);
  if (rows.length === 0) return [`${PAGE} has no rows`];
  const problems = rows.flatMap((row) => checkRow(root, row).map((problem) => `${PAGE}:${row.line}: ${problem}`));
  if (rows.length > MOST_ROWS) problems.push(`${PAGE} has ${rows.length} rows: at most ${MOST_ROWS}`);
  const unnamed = unnamedSuites(
    root,
    rows.flatMap(({ cells }) => filesOf(cells[1])),
  );
  return [...problems, ...unnamed.map((suite) => `${PAGE} names no test of ${suite}/`)];
}
