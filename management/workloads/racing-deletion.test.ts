import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FileLock } from '#lib/files/file-lock';
import { fileRecords } from '../stores/file-records.ts';
import { folderConfigMaps } from '../stores/folder-config-maps.ts';
import { folderResources } from '../stores/folder-resources.ts';
import { ManifestFiles } from '../stores/manifest-files.ts';
import type { Resources } from '../stores/resources.ts';
import { BackgroundWork } from './background-work.ts';
import { localRuntime } from './local-runtime.ts';
import { PermissionProfiles } from './permission-profiles.ts';
import { type WorkloadsFixture, openWorkloadsFixture } from './testdata/workloads-fixture.ts';
import { Workloads } from './workloads.ts';

let fixture: WorkloadsFixture;
beforeEach(() => {
  fixture = openWorkloadsFixture({});
});
afterEach(() => fixture.remove());

const now = () => Date.parse('2026-01-01T00:00:00Z');

/** Deletes workload `a` while another writer changes its manifest between the first read and the next step. */
async function deleteBeside(after: string) {
  const files = new ManifestFiles(fixture.folder, new FileLock(join(fixture.state.path, 'manifests.lock')));
  const folder = folderResources({ files, namespace: 'default', statusOf: () => undefined, now });
  let looks = 0;
  const resources: Resources = {
    list: (kind) => folder.list(kind),
    create: (resource) => folder.create(resource),
    replace: (resource, options) => folder.replace(resource, options),
    delete: (kind, name, options) => folder.delete(kind, name, options),
    async get(kind, name) {
      const found = await folder.get(kind, name);
      if ((looks += 1) === 1) fixture.write('a.yaml', after);
      return found;
    },
  };
  const profiles = new PermissionProfiles(folderConfigMaps(files, 'default'));
  const work = new BackgroundWork({
    records: fileRecords(join(fixture.state.path, 'records'), 'default')('operations'),
    workloads: new Workloads({ resources, profiles, runtime: localRuntime(fixture.state) }),
    now,
    onFailure: (text) => void fixture.failures.push(text),
  });
  const id = await work.begin('delete', await resources.list('MCPServer'));
  await work.idle();
  return work.get(id);
}

const manifest = (image: string, at?: string) => `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: { name: a${at === undefined ? '' : `, creationTimestamp: '${at}'`} }
spec: { image: ${image} }
`;
const FIRST = '2026-01-01T00:00:00.000Z';
const SECOND = '2026-01-01T00:00:01.000Z';

describe('deletion in the background with a concurrent writer', () => {
  it('keeps a workload that was created again since the read, even with equal content', async () => {
    fixture.write('a.yaml', manifest('x', FIRST));
    const { status } = await deleteBeside(manifest('x', SECOND));
    expect([status, fixture.read('a.yaml')]).toEqual(['succeeded', manifest('x', SECOND)]);
  });

  it('reads a changed workload again', async () => {
    fixture.write('a.yaml', manifest('x', FIRST));
    const { status } = await deleteBeside(manifest('y', FIRST));
    expect([status, fixture.files()]).toEqual(['succeeded', []]);
  });

  it('keeps a changed workload without a creation time, because it may be another one', async () => {
    fixture.write('a.yaml', manifest('x'));
    const { status, workloads } = await deleteBeside(manifest('y'));
    expect([status, fixture.read('a.yaml')]).toEqual(['failed', manifest('y')]);
    expect(workloads).toEqual([expect.objectContaining({ name: 'a', status: 'failed', code: 'stale' })]);
  });
});
