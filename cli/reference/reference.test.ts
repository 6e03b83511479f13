import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { EXIT_CODES } from '../exit-codes.ts';
import { renderReference } from './render-reference.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/cli.md'), 'utf8');

describe('the page of the command line', () => {
  it('is committed as the program helps', () => {
    expect(page).toBe(renderReference());
  });

  it('has an example for each command, and names every exit code', () => {
    const sections = page.split('\n### ').slice(1);
    expect(sections.filter((text) => !text.includes('Examples:'))).toEqual([]);
    // Each list can be watched and printed as names, and no option tells a default that is no, none or nothing.
    const lists = sections.filter((text) => /Usage: vmcp .*list\|ls/.test(text));
    expect(lists.map((text) => text.includes('--watch') && text.includes('"name"'))).toEqual(Array(6).fill(true));
    expect(page).not.toMatch(/default:\s+(false|\[\]|"")/);
    expect([...page.matchAll(/^- `(\d)`: /gm)].map(([, code]) => Number(code))).toEqual(Object.values(EXIT_CODES));
  });
});
