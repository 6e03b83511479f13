import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { locateState } from '#local/state-folder';
import { checkFolder } from '../check-folder.ts';
import { addEndpoint, makeFolder } from './make-folder.ts';
import { contextWith } from '../testdata/context-with.ts';

let home: string;
let folder: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'vmcp-folder-'));
  folder = join(home, 'vmcp');
});
afterEach(() => rmSync(home, { recursive: true }));

describe('makeFolder', () => {
  it('creates a valid folder with one loopback endpoint and its group', async () => {
    makeFolder(folder, 'tools');
    const context = contextWith({ state: locateState(join(home, 'state')) });
    const { folderContent, problems } = await checkFolder(folder, context);
    expect(problems).toEqual([]);
    expect(folderContent.manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([
      'VirtualMCPServer/tools',
      'MCPGroup/tools',
    ]);
  });

  it('removes only its own files', () => {
    makeFolder(folder, 'tools')?.();
    expect(existsSync(folder)).toBe(false);
    mkdirSync(folder);
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    makeFolder(folder, 'tools')?.();
    expect(readdirSync(folder)).toEqual(['notes.txt']);
  });

  it('does not change a folder with manifests', () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'own.yaml'), '# mine\n');
    expect(makeFolder(folder, 'tools')).toBeUndefined();
    expect([readdirSync(folder), readFileSync(join(folder, 'own.yaml'), 'utf8')]).toEqual([['own.yaml'], '# mine\n']);
  });

  it('adds an endpoint for a later group, unless the name is taken', async () => {
    makeFolder(folder, 'tools');
    const file = join(folder, 'virtualmcpserver-docs.yaml');
    expect(['docs', 'docs', 'tools'].map((group) => addEndpoint(folder, group, 'default'))).toEqual([
      file,
      undefined,
      undefined,
    ]);
    const { folderContent } = await checkFolder(folder, contextWith({ state: locateState(join(home, 'state')) }));
    const endpoints = folderContent.manifests.filter(({ kind }) => kind === 'VirtualMCPServer');
    expect(endpoints.map(({ spec }) => (spec as { config: unknown }).config)).toEqual([
      { groupRef: 'docs' },
      { groupRef: 'tools' },
    ]);
  });

  it('rejects a folder that cannot be created', () => {
    writeFileSync(join(home, 'file'), '');
    expect(() => makeFolder(join(home, 'file', 'below'), 'tools')).toThrow('--folder');
  });
});
