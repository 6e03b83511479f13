import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FileLock } from '#lib/files/file-lock';
import { resourcesContract } from './contract/resources.contract.ts';
import { folderResources } from './folder-resources.ts';
import { ManifestFiles } from './manifest-files.ts';

const makeFolder = () => mkdtempSync(join(tmpdir(), 'vmcp-manifests-'));

/** Opens the folder as another process, with its own lock on the same file. */
function resourcesOf(folder: string, namespace = 'default') {
  const files = new ManifestFiles(folder, new FileLock(join(folder, '.lock')));
  return folderResources({ files, namespace, statusOf: () => undefined, now: Date.now });
}

resourcesContract('a folder of manifests', () => {
  const folder = makeFolder();
  return {
    one: resourcesOf(folder),
    two: resourcesOf(folder),
    elsewhere: resourcesOf(folder, 'other'),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
});

const GROUP = `# Our group.
apiVersion: team.example/v1alpha1
kind: MCPGroup
metadata: {name: team}
spec: {}
`;
const SERVER = `# Searches.
apiVersion: team.example/v1alpha1
kind: MCPServer
metadata:
  name: search
spec:
  image: "example/search:1" # pinned
  groupRef: team
`;

describe('folderResources', () => {
  let folder: string;
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const change = async (spec: Record<string, unknown>, force = false) => {
    const resources = resourcesOf(folder);
    const search = (await resources.get('MCPServer', 'search'))!;
    return resources.replace({ ...search, spec: { ...search.spec, ...spec } }, { force });
  };
  beforeEach(() => {
    folder = makeFolder();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('keeps comments, order, mode and other documents when it changes, adds or removes one', async () => {
    write('all.yaml', `${GROUP}---\n${SERVER}`);
    chmodSync(join(folder, 'all.yaml'), 0o640);
    await change({ image: 'example/search:2' });
    expect(read('all.yaml')).toBe(`${GROUP}---\n${SERVER}`.replace('search:1', 'search:2'));
    expect(statSync(join(folder, 'all.yaml')).mode & 0o777).toBe(0o640);
    const made = await resourcesOf(folder).create({
      kind: 'MCPServer',
      name: 'more',
      labels: {},
      annotations: {},
      spec: { image: 'x' },
    });
    expect(made.createdAt).toMatch(/^20/);
    expect(read('mcpserver-more.yaml')).toContain('apiVersion: team.example/v1alpha1\n');
    await resourcesOf(folder).delete('MCPServer', 'more');
    await resourcesOf(folder).delete('MCPServer', 'search');
    expect(readdirSync(folder).filter((name) => name !== '.lock')).toEqual(['all.yaml']);
    expect(read('all.yaml')).toBe(`${GROUP}---\n`.replace('---\n', ''));
  });

  it('writes the namespace of a resource from another namespace', async () => {
    const resources = resourcesOf(folder, 'team-a');
    await resources.create({ kind: 'MCPGroup', name: 'g', labels: {}, annotations: {}, spec: {} });
    expect(read('mcpgroup-g.yaml')).toContain('  namespace: team-a\n');
    expect(await resourcesOf(folder).get('MCPGroup', 'g')).toBeUndefined();
  });

  it('changes resources of the same name in several namespaces separately, also in one file', async () => {
    const theirs = SERVER.replace('name: search', 'name: search\n  namespace: other');
    write('all.yaml', `${theirs}---\n${SERVER}`);
    await change({ image: 'example/search:2' });
    expect(read('all.yaml')).toBe(`${theirs}---\n${SERVER.replace('search:1', 'search:2')}`);
    await resourcesOf(folder, 'other').delete('MCPServer', 'search');
    expect(read('all.yaml')).toMatch(/^# Searches\.\n---\n# Searches\.[^]*search:2/);
    expect(read('all.yaml')).not.toContain('namespace: other');
  });

  it('creates a new file beside one that already has the name', async () => {
    write('mcpgroup-g.yaml', GROUP);
    await resourcesOf(folder).create({ kind: 'MCPGroup', name: 'g', labels: {}, annotations: {}, spec: {} });
    expect(read('mcpgroup-g.yaml')).toBe(GROUP);
    expect(read('mcpgroup-g-2.yaml')).toContain('name: g\n');
  });

  it('changes the target of a link', async () => {
    const elsewhere = makeFolder();
    writeFileSync(join(elsewhere, 'real'), SERVER);
    symlinkSync(join(elsewhere, 'real'), join(folder, 'search.yaml'));
    await change({ path: '/x' });
    expect(readFileSync(join(elsewhere, 'real'), 'utf8')).toBe(`${SERVER}  path: /x\n`);
    rmSync(elsewhere, { recursive: true });
  });

  it('reads an unreadable file as it was before, and does not write it', async () => {
    write('search.yaml', SERVER);
    const resources = resourcesOf(folder);
    const search = (await resources.get('MCPServer', 'search'))!;
    write('search.yaml', `${SERVER} broken: [`);
    expect(await resources.get('MCPServer', 'search')).toEqual(search);
    await expect(resources.replace({ ...search, spec: { image: 'y' } })).rejects.toMatchObject({
      code: 'store_damaged',
      message: expect.stringContaining('search.yaml'),
    });
    expect(read('search.yaml')).toBe(`${SERVER} broken: [`);
  });

  it('changes a manifest with a loss only with force', async () => {
    const anchored = `${SERVER}  args: &list [a]\n  toolsFilter: *list\n`;
    write('search.yaml', anchored);
    const resources = resourcesOf(folder);
    const search = (await resources.get('MCPServer', 'search'))!;
    const { toolsFilter } = search.spec;
    const spec = { image: 'y', toolsFilter };
    await expect(resources.replace({ ...search, spec })).rejects.toMatchObject({ code: 'conflict' });
    expect(read('search.yaml')).toBe(anchored);
    expect((await resources.replace({ ...search, spec }, { force: true })).spec).toEqual(spec);
  });

  it('loses no change when an editor writes at the same time', async () => {
    write('search.yaml', SERVER);
    const files = new ManifestFiles(folder, new FileLock(join(folder, '.lock')));
    let edits = 0;
    const done = await files.change({ kind: 'MCPServer', namespace: 'default', name: 'search' }, (said) => {
      edits += 1;
      if (edits === 1) write('search.yaml', `${SERVER}  path: /editor\n`);
      return { ...said, spec: { ...(said.spec as object), mcpPort: 9000 } };
    });
    expect(edits).toBe(2);
    expect(done?.after?.spec).toMatchObject({ path: '/editor', mcpPort: 9000 });
    expect(read('search.yaml')).toBe(`${SERVER}  path: /editor\n  mcpPort: 9000\n`);
  });

  it('removes a resource in its current form when an editor writes at the same time', async () => {
    write('search.yaml', SERVER);
    const files = new ManifestFiles(folder, new FileLock(join(folder, '.lock')));
    const seen: unknown[] = [];
    await files.change({ kind: 'MCPServer', namespace: 'default', name: 'search' }, (said) => {
      seen.push(said.spec);
      if (seen.length === 1) write('search.yaml', `${SERVER}  path: /editor\n---\n${GROUP}`);
      return undefined;
    });
    expect(seen[1]).toMatchObject({ path: '/editor' });
    expect(read('search.yaml')).toContain('kind: MCPGroup');
  });

  it('gives up when another writer keeps changing the manifest', async () => {
    write('search.yaml', SERVER);
    const files = new ManifestFiles(folder, new FileLock(join(folder, '.lock')));
    let edits = 0;
    await expect(
      files.change({ kind: 'MCPServer', namespace: 'default', name: 'search' }, (said) => {
        write('search.yaml', `${SERVER}# ${edits++}\n`);
        return { ...said, spec: { image: 'y' } };
      }),
    ).rejects.toMatchObject({ code: 'busy' });
    expect(readdirSync(folder).sort()).toEqual(['.lock', 'search.yaml']);
  });

  it('reports a missing folder', async () => {
    rmSync(folder, { recursive: true });
    await expect(resourcesOf(folder).list('MCPServer')).rejects.toMatchObject({ code: 'unavailable' });
  });
});
