import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CurrentFolderContent } from '#local/current-folder-content';
import { keyText } from '#operator/snapshot';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const group = (name: string, description = '') =>
  `apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: ${name}}\nspec: {description: "${description}"}\n`;
const secret = (value: string) =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {plain: ${value}}\ndata: {coded: ${Buffer.from('decoded').toString('base64')}}\n`;
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const names = (folderContent: CurrentFolderContent) =>
  folderContent.value.manifests.map(({ metadata }) => metadata.name).sort();
const changes = (folderContent: CurrentFolderContent) => folderContent.refresh().map(keyText).sort();

describe('ManifestFolder', () => {
  it('reads all YAML files with any number of documents, but no subfolders', () => {
    write('a.yaml', `${group('one')}---\n${group('two')}`);
    write('b.yml', group('three'));
    write('c.txt', group('four'));
    mkdirSync(join(folder, 'inside'));
    write('inside/d.yaml', group('five'));
    const folderContent = new CurrentFolderContent(folder);
    expect(changes(folderContent)).toEqual(['MCPGroup/default/one', 'MCPGroup/default/three', 'MCPGroup/default/two']);
  });

  it('returns the values of Secrets, plain and base64', () => {
    write('s.yaml', secret('seen'));
    const folderContent = new CurrentFolderContent(folder);
    folderContent.refresh();
    expect(folderContent.value.secrets.get('default/s')).toEqual({ plain: 'seen', coded: 'decoded' });
  });

  it('returns only the resources that changed, appeared or were deleted', () => {
    write('a.yaml', group('one'));
    write('b.yaml', group('two'));
    write('s.yaml', secret('before'));
    const folderContent = new CurrentFolderContent(folder);
    folderContent.refresh();
    expect(changes(folderContent)).toEqual([]);
    write('a.yaml', group('one', 'changed'));
    write('s.yaml', secret('after'));
    write('c.yaml', group('three'));
    rmSync(join(folder, 'b.yaml'));
    expect(changes(folderContent)).toEqual([
      'MCPGroup/default/one',
      'MCPGroup/default/three',
      'MCPGroup/default/two',
      'Secret/default/s',
    ]);
  });

  it('increments a version only when the spec changes', () => {
    write('a.yaml', group('one'));
    const folderContent = new CurrentFolderContent(folder);
    const generation = () => folderContent.value.manifests[0]?.metadata.generation;
    folderContent.refresh();
    expect(generation()).toBe(1);
    write('a.yaml', `# a comment\n${group('one')}`);
    folderContent.refresh();
    expect(generation()).toBe(1);
    write('a.yaml', group('one', 'changed'));
    folderContent.refresh();
    expect(generation()).toBe(2);
  });

  it('keeps the resources of a file that is no longer valid YAML, and reports the problem', () => {
    write('a.yaml', group('one'));
    write('b.yaml', group('two'));
    const folderContent = new CurrentFolderContent(folder);
    folderContent.refresh();
    write('a.yaml', 'kind: [\n  : {');
    expect(changes(folderContent)).toEqual([]);
    expect(names(folderContent)).toEqual(['one', 'two']);
    expect(folderContent.value.problems[0]?.file).toBe(join(folder, 'a.yaml'));
    rmSync(join(folder, 'a.yaml'));
    expect(changes(folderContent)).toEqual(['MCPGroup/default/one']);
    expect(folderContent.value.problems).toEqual([]);
  });

  it('keeps its resources while the folder is missing', () => {
    write('a.yaml', group('one'));
    const folderContent = new CurrentFolderContent(folder);
    folderContent.refresh();
    rmSync(folder, { recursive: true });
    expect(changes(folderContent)).toEqual([]);
    expect(names(folderContent)).toEqual(['one']);
    expect(folderContent.value.problems[0]?.message).toContain('ENOENT');
  });
});
