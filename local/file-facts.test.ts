import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { listEnvFiles } from './file-facts.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-env-files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('listEnvFiles', () => {
  it('lists visible files and links to files, sorted by name', () => {
    for (const name of ['b.env', 'a', '.hidden']) writeFileSync(join(folder, name), 'A=b\n');
    mkdirSync(join(folder, 'inside'));
    symlinkSync('.hidden', join(folder, 'linked'));
    expect(listEnvFiles(folder)).toEqual(['a', 'b.env', 'linked'].map((name) => join(folder, name)));
  });

  it('returns nothing when the folder cannot be read or holds too many files', () => {
    expect(listEnvFiles(join(folder, 'nowhere'))).toBeUndefined();
    for (let number = 0; number < 65; number += 1) writeFileSync(join(folder, `f${number}`), '');
    expect(listEnvFiles(folder)).toBeUndefined();
  });
});
