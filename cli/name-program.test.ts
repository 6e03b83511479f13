import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { nameProgram, quoted } from './name-program.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-name-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(...path: string[]): string {
  const directory = join(folder, ...path);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'vmcp'), '');
  chmodSync(join(directory, 'vmcp'), 0o755);
  return directory;
}

const ENTRY = '/opt/of vmcp/dist/vmcp.js';

describe('what people type', () => {
  it('is vmcp where their shell finds it', () => {
    expect(nameProgram({ PATH: ['/nowhere', program('bin')].join(delimiter) }, folder, ENTRY)).toBe('vmcp');
  });

  it('goes through npx in a project that has it, as npm alone puts its programs into PATH', () => {
    const PATH = program('project', 'node_modules', '.bin');
    const below = join(folder, 'project', 'examples');
    expect(nameProgram({ PATH, npm_command: 'run-script' }, below, ENTRY)).toBe('npx vmcp');
  });

  it('is vmcp, too, where somebody put the programs of a project into PATH', () => {
    const PATH = program('project', 'node_modules', '.bin');
    expect(nameProgram({ PATH }, folder, ENTRY)).toBe('vmcp');
  });

  it('goes through npx where it came that way', () => {
    expect(nameProgram({ npm_command: 'exec' }, folder, ENTRY)).toBe('npx vmcp');
  });

  it('is the path elsewhere, as a shell reads it', () => {
    expect(nameProgram({ npm_command: 'run-script' }, folder, ENTRY)).toBe(`node '${ENTRY}'`);
    expect(['a/b.js', "it's"].map(quoted)).toEqual(['a/b.js', String.raw`'it'\''s'`]);
  });
});
