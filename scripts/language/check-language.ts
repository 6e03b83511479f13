import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPage } from './read-page.ts';
import { type Piece, readSource } from './read-source.ts';
import { type Breach, findInName, findInProse, findInTestName, findLongSentences } from './rules.ts';

const SOURCES = '{crds,lib,operator,local,management,cli,runtime,e2e,scripts,examples}/**/*.ts';
const PAGES = ['*.md', 'docs/**/*.md', 'examples/**/*.md', 'charts/**/*.md'];
/** Pages that programs write. */
const GENERATED = 'docs/reference/';

/** The words that a breach is found in. */
type WordKind = 'comment' | 'page' | 'test name' | 'name';

/** A breach with its place. */
interface Finding extends Breach {
  readonly file: string;
  readonly line: number;
  readonly kind: WordKind;
}

/** Finds breaches of the language rules in sources and pages below a folder. */
export function checkLanguage(root: string): Finding[] {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const sources = globSync(SOURCES, { cwd: root }).sort();
  const pages = globSync(PAGES, { cwd: root })
    .filter((page) => !page.startsWith(GENERATED))
    .sort();
  return [
    ...sources.flatMap((file) => inSource(file, read(file))),
    ...pages.flatMap((file) => inPage(file, read(file))),
  ];
}

function inSource(file: string, text: string): Finding[] {
  const { comments, testNames, names } = readSource(file, text);
  return [
    ...found(file, 'comment', comments, findInProse),
    ...found(file, 'test name', testNames, findInTestName),
    ...found(file, 'name', names, findInName),
  ];
}

function inPage(file: string, text: string): Finding[] {
  return found(file, 'page', readPage(text), (words) => [...findInProse(words), ...findLongSentences(words)]);
}

function found(file: string, kind: WordKind, pieces: readonly Piece[], find: (text: string) => Breach[]): Finding[] {
  return pieces.flatMap(({ line, text }) => find(text).map((breach) => ({ file, line, kind, ...breach })));
}
