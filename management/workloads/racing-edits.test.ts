import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FileLock } from '#lib/files/file-lock';
import { Groups } from '../groups/groups.ts';
import { folderConfigMaps } from '../stores/folder-config-maps.ts';
import { folderResources } from '../stores/folder-resources.ts';
import { ManifestFiles } from '../stores/manifest-files.ts';
import type { Resources } from '../stores/resources.ts';
import { localRuntime } from './local-runtime.ts';
import { PermissionProfiles } from './permission-profiles.ts';
import { type WorkloadsFixture, openWorkloadsFixture } from './testdata/workloads-fixture.ts';
import { Workloads } from './workloads.ts';

let fixture: WorkloadsFixture;
beforeEach(() => {
  fixture = openWorkloadsFixture({});
});
afterEach(() => fixture.remove());

const noted = (kind: string, spec: string, note: number) => `apiVersion: vmcp.dev/v1alpha1
kind: ${kind}
metadata: { name: a, annotations: { note: '${note}' } }
spec: ${spec}
`;
const KINDS = [
  ['a workload', 'MCPServer', '{ image: x }', 'image'],
  ['a group', 'MCPGroup', '{ description: x }', 'description'],
] as const;

/** Opens a workload or group `a` to which another writer adds a note after each of the first reads. */
function openBeside([, kind, spec]: (typeof KINDS)[number], most: number) {
  fixture.write('a.yaml', noted(kind, spec, 0));
  const files = new ManifestFiles(fixture.folder, new FileLock(join(fixture.state.path, 'manifests.lock')));
  const folder = folderResources({ files, namespace: 'default', statusOf: () => undefined, now: Date.now });
  let looks = 0;
  const resources: Resources = {
    list: (of) => folder.list(of),
    create: (resource) => folder.create(resource),
    replace: (resource, options) => folder.replace(resource, options),
    delete: (of, name, options) => folder.delete(of, name, options),
    async get(of, name) {
      const found = await folder.get(of, name);
      if (looks < most) fixture.write('a.yaml', noted(kind, spec, (looks += 1)));
      return found;
    },
  };
  const profiles = new PermissionProfiles(folderConfigMaps(files, 'default'));
  const workloads = new Workloads({ resources, profiles, runtime: localRuntime(fixture.state) });
  const edit = (expected?: readonly string[]) =>
    kind === 'MCPGroup'
      ? new Groups(resources).edit('a', 'mine', { expected })
      : workloads.edit('a', { image: 'mine' }, () => Promise.resolve(), { expected });
  return { edit, folder };
}

describe.each(KINDS)('edit of %s with a concurrent writer', (...of) => {
  const [, kind, , field] = of;

  it('applies to the current state when it names no version', async () => {
    await openBeside(of, 2).edit();
    expect(fixture.read('a.yaml')).toContain(`${field}: mine`);
    expect(fixture.read('a.yaml')).toContain("note: '2'");
  });

  it('fails as busy, not stale, after repeated changes when it names no version', async () => {
    await expect(openBeside(of, Infinity).edit()).rejects.toMatchObject({ code: 'busy', status: 409 });
    expect(fixture.read('a.yaml')).toContain(`${field}: x`);
  });

  it('fails as stale when it names a former version', async () => {
    const { edit, folder } = openBeside(of, 1);
    const version = (await folder.get(kind, 'a'))?.version ?? '';
    await expect(edit([version])).rejects.toMatchObject({ code: 'stale', status: 412 });
    expect(fixture.read('a.yaml')).toContain(`${field}: x`);
  });
});

it('rejects an edit of a former version, even when another writer wrote equal content', async () => {
  fixture.write('a.yaml', noted('MCPServer', '{ image: x }', 0));
  const files = new ManifestFiles(fixture.folder, new FileLock(join(fixture.state.path, 'manifests.lock')));
  const folder = folderResources({ files, namespace: 'default', statusOf: () => undefined, now: Date.now });
  const resources: Resources = {
    list: (of) => folder.list(of),
    get: (of, name) => folder.get(of, name),
    create: (resource) => folder.create(resource),
    async replace(resource, options) {
      fixture.write('a.yaml', noted('MCPServer', '{ image: mine }', 0));
      return folder.replace(resource, options);
    },
    delete: (of, name, options) => folder.delete(of, name, options),
  };
  const profiles = new PermissionProfiles(folderConfigMaps(files, 'default'));
  const workloads = new Workloads({ resources, profiles, runtime: localRuntime(fixture.state) });
  const { version } = await workloads.get('a');
  const edit = workloads.edit('a', { image: 'mine' }, () => Promise.resolve(), { expected: [version] });
  await expect(edit).rejects.toMatchObject({ code: 'stale' });
});

it('rejects a change as busy when 500 changes of the workload run or wait, and serves other workloads', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<undefined>();
  const resources: Resources = {
    list: () => Promise.resolve([]),
    get: (_kind, name) => (name === 'a' ? opened : Promise.resolve(undefined)),
    create: () => Promise.reject(new Error('not called')),
    replace: () => Promise.reject(new Error('not called')),
    delete: () => Promise.resolve(false),
  };
  const files = new ManifestFiles(fixture.folder, new FileLock(join(fixture.state.path, 'manifests.lock')));
  const profiles = new PermissionProfiles(folderConfigMaps(files, 'default'));
  const workloads = new Workloads({ resources, profiles, runtime: localRuntime(fixture.state) });
  const all = Promise.allSettled(Array.from({ length: 500 }, () => workloads.delete('a')));
  await expect(workloads.delete('a')).rejects.toMatchObject({ code: 'busy', status: 409 });
  await expect(workloads.delete('b')).rejects.toMatchObject({ code: 'not_found' });
  open(undefined);
  const reasons = (await all).map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : ''));
  expect(reasons).toEqual(Array(500).fill('not_found'));
});
