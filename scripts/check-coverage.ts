// Checks docs/coverage.md: every row has three cells, every file that it names exists, and every test that it names is in
// that test file.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readLiterals, readTestNames, type TestName } from './test-names.ts';

const PAGE = 'docs/coverage.md';

interface Row {
  readonly line: number;
  readonly cells: readonly string[];
}

/** Rows of tables without their heads. A `|` within a cell is written `\|`. */
function rowsOf(page: string): Row[] {
  const lines = page.split('\n');
  return lines.flatMap((text, index) => {
    const isHead = /^\|[\s:|-]+$/.test(lines[index + 1] ?? '');
    if (!text.startsWith('|') || isHead || /^\|[\s:|-]+$/.test(text)) return [];
    const cells = text.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
    return [{ line: index + 1, cells: cells.slice(1, -1) }];
  });
}

/** The texts between backquotes; without any, the cell holds nothing to check. */
const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
const plain = (text: string): string => text.replaceAll(/[`'"’“”\\]/g, '').replaceAll(/\s+/g, ' ');

/** What tests are known by: names, and the entries of their tables, in the test file or in the folder `testdata` beside it. */
interface Known {
  readonly names: readonly TestName[];
  has(entry: string): boolean;
}

function readKnown(root: string, file: string): Known {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const folder = join(dirname(file), 'testdata');
  const beside = existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : [];
  const tables = [file, ...beside.filter((entry) => entry.endsWith('.ts')).map((entry) => join(folder, entry))];
  const literals = tables.map((table) => readLiterals(table, read(table)));
  return {
    names: readTestNames(file, read(file)),
    has: (entry) => beside.some((name) => name.startsWith(`${entry}.`)) || literals.some((texts) => texts.has(entry)),
  };
}

/** Reads each test file once. */
function createReader(root: string): (file: string) => Known {
  const cache = new Map<string, Known>();
  return (file) => {
    const known = cache.get(file) ?? readKnown(root, file);
    cache.set(file, known);
    return known;
  };
}

/** What is wrong with `<file>: <name of a test in it>`, or with a file alone. */
function checkTest(root: string, test: string, knownOf: (file: string) => Known): string[] {
  const [, file = test, name = ''] = /^([^\s:]+): (.+)$/s.exec(test) ?? [];
  if (!existsSync(join(root, file)) || !statSync(join(root, file)).isFile())
    return [`test file ${file} does not exist`];
  if (name === '') return [];
  if (!file.endsWith('.test.ts')) {
    const says = plain(readFileSync(join(root, file), 'utf8')).includes(plain(name));
    return says ? [] : [`${file} does not say "${name}"`];
  }
  const known = knownOf(file);
  const isThere = known.names.some(
    (one) => plain(one.text) === plain(name) || one.entriesOf(name)?.every((entry) => known.has(entry)),
  );
  return isThere ? [] : [`${file} has no test "${name}"`];
}

function checkRow(root: string, { cells }: Row, knownOf: (file: string) => Known): string[] {
  const [promise = '', files = '', tests = ''] = cells;
  if (cells.length !== 3 || promise === '') return ['a row is: promise, file, tests'];
  const missing = quoted(files).filter((file) => !existsSync(join(root, file)));
  const problems = missing.map((file) => `${file} does not exist`);
  if (/^open\b/.test(tests)) return problems;
  if (quoted(files).length === 0) problems.push('names no file');
  if (quoted(tests).length === 0) problems.push('names neither a test nor `open`');
  return [...problems, ...quoted(tests).flatMap((test) => checkTest(root, test, knownOf))];
}

/** The problems of the page, each with its line. */
export function checkCoverage(root: string, page = readFileSync(join(root, PAGE), 'utf8')): string[] {
  const rows = rowsOf(page);
  if (rows.length === 0) return [`${PAGE} has no rows`];
  const knownOf = createReader(root);
  return rows.flatMap((row) => checkRow(root, row, knownOf).map((problem) => `${PAGE}:${row.line}: ${problem}`));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const problems = checkCoverage(join(import.meta.dirname, '..'));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
