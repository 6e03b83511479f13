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

describe('nameProgram', () => {
  it('returns vmcp if the shell finds it', () => {
    expect(nameProgram({ PATH: ['/nowhere', program('bin')].join(delimiter) }, folder, ENTRY)).toBe('vmcp');
  });

  it('returns npx in a project that has vmcp, because only npm adds its programs to PATH', () => {
    const PATH = program('project', 'node_modules', '.bin');
    const below = join(folder, 'project', 'examples');
    expect(nameProgram({ PATH, npm_command: 'run-script' }, below, ENTRY)).toBe('npx vmcp');
  });

  it('returns vmcp if the user exports the programs of a project in PATH', () => {
    const PATH = program('project', 'node_modules', '.bin');
    expect(nameProgram({ PATH }, folder, ENTRY)).toBe('vmcp');
  });

  it('returns npx if npx started it', () => {
    expect(nameProgram({ npm_command: 'exec' }, folder, ENTRY)).toBe('npx vmcp');
  });

  it('returns the quoted path elsewhere', () => {
    expect(nameProgram({ npm_command: 'run-script' }, folder, ENTRY)).toBe(`node '${ENTRY}'`);
    expect(['a/b.js', "it's"].map(quoted)).toEqual(['a/b.js', String.raw`'it'\''s'`]);
  });
});
