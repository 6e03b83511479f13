import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { EXIT_CODES } from '../exit-codes.ts';
import { renderReference } from './render-reference.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/cli.md'), 'utf8');

describe('docs/reference/cli.md', () => {
  it('equals the help of the program', () => {
    expect(page).toBe(renderReference());
  });

  it('has an example for each command, and names every exit code', () => {
    const sections = page.split('\n### ').slice(1);
    expect(sections.filter((text) => !text.includes('Examples:'))).toEqual([]);
    // Every list has --watch and --output name. No option shows a default of false, none or nothing.
    const lists = sections.filter((text) => /Usage: vmcp .*list\|ls/.test(text));
    expect(lists.map((text) => text.includes('--watch') && text.includes('"name"'))).toEqual(Array(6).fill(true));
    expect(page).not.toMatch(/default:\s+(false|\[\]|"")/);
    expect([...page.matchAll(/^- `(\d)`: /gm)].map(([, code]) => Number(code))).toEqual(Object.values(EXIT_CODES));
  });
});
