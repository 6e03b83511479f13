import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { checkLinks } from './check-links.ts';

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'vmcp-links-'));
  mkdirSync(join(root, 'docs/deep'), { recursive: true });
  writeFileSync(
    join(root, 'README.md'),
    'See [docs](docs/page.md#place), [web](https://example.com/none), [gone](docs/gone.md).\n',
  );
  writeFileSync(
    join(root, 'docs/page.md'),
    '[up](../README.md) [here](#place) `[code](none.md)`\n\n```\n[code](none.md)\n```\n',
  );
  writeFileSync(join(root, 'docs/deep/page.md'), '[no longer](page.md/x#y) [right](../page.md)\n');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

it('checkLinks reports only relative links without a target file', () => {
  expect(checkLinks(root)).toEqual([
    'README.md: a link leads to docs/gone.md, which is not there',
    'docs/deep/page.md: a link leads to page.md/x, which is not there',
  ]);
});

it('checkLinks accepts this repository', () => {
  expect(checkLinks(join(import.meta.dirname, '..'))).toEqual([]);
});
