// Checks docs/coverage.md: every file that a row names exists, and every test that it names is in that test file.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const PAGE = 'docs/coverage.md';

interface Row {
  line: number;
  files: string[];
  test: string;
}

function rowsOf(page: string): Row[] {
  return page.split('\n').flatMap((text, index) => {
    const cells = text.split('|').map((cell) => cell.trim());
    if (!text.startsWith('|') || cells.length < 5 || /^:?-+:?$/.test(cells[1] ?? '') || cells[2] === 'file') return [];
    const files = (cells[2] ?? '').split(/[,\s]+/).map((file) => file.replaceAll('`', ''));
    return [
      { line: index + 1, files: files.filter((file) => file !== ''), test: (cells[3] ?? '').replaceAll('`', '') },
    ];
  });
}

const plain = (text: string): string => text.replaceAll(/[`'"\\]/g, '').replaceAll(/\s+/g, ' ');

/** What is wrong with the last cell of a row: `<test file>: <test name>`, or `open`. */
function checkTest(root: string, test: string): string[] {
  if (test === '' || /^open\b/.test(test)) return test === '' ? ['names neither a test nor `open`'] : [];
  const [, file = '', name = ''] = /^([^\s:]+)(?::\s*(.*))?$/.exec(test) ?? [];
  if (!existsSync(join(root, file))) return [`test file ${file === '' ? test : file} does not exist`];
  if (name === '' || plain(readFileSync(join(root, file), 'utf8')).includes(plain(name))) return [];
  return [`${file} has no test "${name}"`];
}

/** The problems of the page, each with its line. */
export function checkCoverage(root: string): string[] {
  const rows = rowsOf(readFileSync(join(root, PAGE), 'utf8'));
  if (rows.length === 0) return [`${PAGE} has no rows`];
  return rows.flatMap(({ line, files, test }) => {
    const missing = files.filter((file) => file.includes('/') && !existsSync(join(root, file)));
    const problems = [...missing.map((file) => `${file} does not exist`), ...checkTest(root, test)];
    return problems.map((problem) => `${PAGE}:${line}: ${problem}`);
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const problems = checkCoverage(join(import.meta.dirname, '..'));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
