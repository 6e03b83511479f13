import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkCircles } from './check-circles.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'vmcp-circles-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
}

describe('checkCircles', () => {
  it.each([
    ['values', `import { b } from './b.ts';`],
    ['types', `import type { B } from './b.ts';`],
    ['a subpath import', `import { b } from '#lib/x/b';`],
    ['a re-export', `export { b } from './b.ts';`],
    ['a dynamic import', `export const b = () => import('./b.ts');`],
  ])('reports a circle of %s', (_name, text) => {
    write({ 'lib/x/a.ts': text, 'lib/x/b.ts': `import { c } from './c.ts';`, 'lib/x/c.ts': `import '../x/a.ts';` });
    const path = 'lib/x/a.ts -> lib/x/b.ts -> lib/x/c.ts -> lib/x/a.ts';
    expect(checkCircles(root)).toEqual([`import circle: ${path}; move what they share to a lower file`]);
  });

  it('accepts two paths to one file', () => {
    write({ 'lib/a.ts': `import './b.ts'; import './c.ts';`, 'lib/b.ts': `import './c.ts';`, 'lib/c.ts': '' });
    expect(checkCircles(root)).toEqual([]);
  });

  it('accepts this repository', () => {
    expect(checkCircles(join(import.meta.dirname, '..'))).toEqual([]);
  });
});
