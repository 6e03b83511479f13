import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkLanguage } from './check-language.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'vmcp-language-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}
const places = () => checkLanguage(root).map(({ file, line, words }) => `${file}:${line} ${words}`);

describe('checkLanguage', () => {
  it('finds breaches in comments, test names and declared names, with their lines', () => {
    write(
      'runtime/a.ts',
      [
        '// The first line of a comment,',
        '// and nobody knows its end.',
        'export const trail = "nobody";',
        '/** What it does. */',
        'export function f(rooms: string[]) {',
        '  return rooms; // plain',
        '}',
      ].join('\n'),
    );
    write('runtime/a.test.ts', "it.each([1])('is %s', () => undefined);\nit('rejects it', () => undefined);\n");
    expect(places()).toEqual([
      'runtime/a.test.ts:1 is %s',
      'runtime/a.ts:1 nobody',
      'runtime/a.ts:4 What it does.',
      'runtime/a.ts:3 trail',
      'runtime/a.ts:5 rooms',
    ]);
  });

  it('finds breaches in paragraphs, list items and cells of pages, and none in code', () => {
    write(
      'docs/a.md',
      [
        '# A page',
        '',
        'A paragraph that',
        'nobody reads.',
        '',
        '```',
        'nobody',
        '```',
        '',
        '- one',
        '- somebody',
        '',
        '| a | everyone |',
      ].join('\n'),
    );
    expect(places()).toEqual(['docs/a.md:3 nobody', 'docs/a.md:11 somebody', 'docs/a.md:13 everyone']);
  });

  it('leaves out pages that programs write', () => {
    write('docs/reference/a.md', 'Nobody reads it.\n');
    expect(places()).toEqual([]);
  });
});
