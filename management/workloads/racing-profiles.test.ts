import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PermissionProfileDocument } from '#crds/parts/permission-profile';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { FileLock } from '#lib/files/file-lock';
import { locateState } from '#local/state-folder';
import { Problem } from '../problem.ts';
import { clusterConfigMaps } from '../stores/cluster-config-maps.ts';
import { clusterResources } from '../stores/cluster-resources.ts';
import type { ConfigMaps } from '../stores/config-maps.ts';
import { folderConfigMaps } from '../stores/folder-config-maps.ts';
import { folderResources } from '../stores/folder-resources.ts';
import { ManifestFiles } from '../stores/manifest-files.ts';
import type { Resources } from '../stores/resources.ts';
import { localRuntime } from './local-runtime.ts';
import { PermissionProfiles } from './permission-profiles.ts';
import { Workloads } from './workloads.ts';

interface Replica {
  resources: Resources;
  configMaps: ConfigMaps;
}

/** Each call returns the same place as another process sees it. */
interface Opened {
  replica: () => Replica;
  /** Writes a ConfigMap of that name outside of vmcp. */
  writeByHand: (name: string) => void;
  close: () => Promise<void> | void;
}

async function openCluster(): Promise<Opened> {
  const server = await new ObjectServer().start();
  const namespace = 'team';
  return {
    replica: () => ({
      resources: clusterResources({ api: server.api(), namespace, apiGroup: 'vmcp.dev' }),
      configMaps: clusterConfigMaps(server.api(), namespace),
    }),
    writeByHand: (name) =>
      void server.put(`/api/v1/namespaces/${namespace}/configmaps/${name}`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace },
        data: {},
      }),
    close: () => server.close(),
  };
}

function openFolder(): Opened {
  const path = mkdtempSync(join(tmpdir(), 'vmcp-profiles-'));
  const folder = join(path, 'manifests');
  mkdirSync(folder);
  const namespace = 'default';
  return {
    replica() {
      const files = new ManifestFiles(folder, new FileLock(join(path, 'manifests.lock')));
      const resources = folderResources({ files, namespace, statusOf: () => undefined, now: Date.now });
      return { resources, configMaps: folderConfigMaps(files, namespace) };
    },
    writeByHand: (name) =>
      writeFileSync(
        join(folder, `${name}.yaml`),
        `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: {}\n`,
      ),
    close: () => rmSync(path, { recursive: true }),
  };
}

const reaching = (host: string): PermissionProfileDocument => ({ network: { outbound: { allow_host: [host] } } });
const made = (host: string) => ({ name: 'a', image: 'example/x:1', permission_profile: reaching(host) });
const anything = () => Promise.resolve(undefined);

describe.each([
  ['in a cluster', openCluster],
  ['in a folder', openFolder],
])('permission profiles %s that several processes change', (_where, open: () => Opened | Promise<Opened>) => {
  let opened: Opened;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.close());

  /** One of several processes; a test may replace some of its calls. */
  function replica(
    otherwise: (resources: Resources) => Partial<Resources> = () => ({}),
    mapsOtherwise: (configMaps: ConfigMaps) => Partial<ConfigMaps> = () => ({}),
  ): Workloads {
    const { resources, configMaps } = opened.replica();
    const all: Resources = {
      list: (kind) => resources.list(kind),
      get: (kind, name) => resources.get(kind, name),
      create: (resource) => resources.create(resource),
      replace: (resource, options) => resources.replace(resource, options),
      delete: (kind, name, options) => resources.delete(kind, name, options),
    };
    const runtime = localRuntime(locateState('/nowhere'));
    return new Workloads({
      resources: { ...all, ...otherwise(resources) },
      profiles: new PermissionProfiles({ ...configMaps, ...mapsOtherwise(configMaps) }),
      runtime,
    });
  }
  const profile = async (): Promise<unknown> => (await replica().get('a')).detail.permission_profile;
  const heldProfile = () => opened.replica().configMaps.get('a-permissions');

  it('accept one of two changes of the same version, and reject the other as stale', async () => {
    const [one, two] = [replica(), replica()];
    await one.create(made('first.test'), anything);
    const { version } = await one.get('a');
    let readers = 0;
    const { promise: bothHaveRead, resolve } = Promise.withResolvers<undefined>();
    const check = () => {
      if ((readers += 1) === 2) resolve(undefined);
      return bothHaveRead;
    };
    const edit = (by: Workloads, host: string) =>
      by.edit('a', { permission_profile: reaching(host) }, check, { expected: [version] });
    const ends = await Promise.allSettled([edit(one, 'one.test'), edit(two, 'two.test')]);
    const winner = ends.findIndex(({ status }) => status === 'fulfilled');
    expect(ends.filter(({ status }) => status === 'rejected')).toMatchObject([{ reason: { code: 'stale' } }]);
    expect(await profile()).toEqual(reaching(['one.test', 'two.test'][winner] ?? ''));
  });

  it('keep the profile of another writer when an edit fails after its own write', async () => {
    const other = replica();
    await other.create(made('first.test'), anything);
    const failing = replica(() => ({
      async replace() {
        await other.edit('a', { permission_profile: reaching('other.test') }, anything, {});
        throw new Problem('conflict', 'somebody owns it');
      },
    }));
    const edit = failing.edit('a', { ...made('mine.test'), image: 'example/x:2' }, anything, {});
    await expect(edit).rejects.toMatchObject({ code: 'conflict' });
    expect(await profile()).toEqual(reaching('other.test'));
  });

  it('return to their former content when an edit fails without another writer', async () => {
    await replica().create(made('first.test'), anything);
    const failing = replica(() => ({ replace: () => Promise.reject(new Problem('conflict', 'somebody owns it')) }));
    const edit = failing.edit('a', { permission_profile: reaching('mine.test') }, anything, {});
    await expect(edit).rejects.toMatchObject({ code: 'conflict' });
    expect(await profile()).toEqual(reaching('first.test'));
  });

  it('stay with an edit that succeeded although its answer was lost', async () => {
    await replica().create(made('first.test'), anything);
    const losing = replica((resources) => ({
      async replace(...what) {
        await resources.replace(...what);
        throw new Problem('unavailable', 'it did not answer');
      },
    }));
    const wanted = { ...made('mine.test'), image: 'example/x:2' };
    const { resource } = await losing.edit('a', wanted, anything, {});
    const { detail, version } = await replica().get('a');
    expect(detail).toMatchObject({ image: 'example/x:2', permission_profile: reaching('mine.test') });
    expect(resource.spec.image).toBe('example/x:2');
    await replica().edit('a', made('next.test'), anything, { expected: [version] });
  });

  it('return to their former content when the answer is lost and the write failed', async () => {
    await replica().create(made('first.test'), anything);
    const away = replica((resources) => ({
      async replace() {
        const found = await resources.get('MCPServer', 'a');
        // Another version, from another writer.
        if (found) await resources.replace({ ...found, spec: { ...found.spec, image: 'example/x:3' } }, {});
        throw new Problem('unavailable', 'it did not answer');
      },
    }));
    const edit = away.edit('a', { ...made('mine.test'), image: 'example/x:2' }, anything, {});
    await expect(edit).rejects.toMatchObject({ code: 'unavailable' });
    expect(await profile()).toEqual(reaching('first.test'));
  });

  it('report the first failure when a restore fails, too', async () => {
    await replica().create(made('first.test'), anything);
    let puts = 0;
    const failing = replica(
      () => ({ replace: () => Promise.reject(new Problem('conflict', 'somebody owns it')) }),
      (configMaps) => ({
        put(...what) {
          puts += 1;
          return puts === 1 ? configMaps.put(...what) : Promise.reject(new Problem('unavailable', 'it is away'));
        },
      }),
    );
    const edit = failing.edit('a', { permission_profile: reaching('mine.test') }, anything, {});
    await expect(edit).rejects.toMatchObject({ code: 'conflict', cause: { code: 'unavailable' } });
    expect(puts).toBe(2);
  });

  it('belong to the creator of the workload, not to a later caller', async () => {
    const winner = replica();
    const late = replica((resources) => ({
      async create(resource) {
        await winner.create(made('winner.test'), anything);
        return resources.create(resource);
      },
    }));
    await expect(late.create(made('late.test'), anything)).rejects.toMatchObject({ code: 'already_exists' });
    expect(await profile()).toEqual(reaching('winner.test'));
  });

  it('stay with a workload created again when the remains of the former one are removed', async () => {
    const { resources } = opened.replica();
    const next = replica();
    await next.create(made('former.test'), anything);
    // The former process ended here.
    await resources.delete('MCPServer', 'a');
    const late = replica(() => ({
      async get(kind, name) {
        const found = await resources.get(kind, name);
        await next.create(made('next.test'), anything);
        return found;
      },
    }));
    await late.removeRest('a');
    expect(await profile()).toEqual(reaching('next.test'));
  });

  it('stay with a workload created again at once, while the former one is still being removed', async () => {
    const next = replica();
    await next.create(made('former.test'), anything);
    const deleting = replica((resources) => ({
      async delete(...what) {
        const isGone = await resources.delete(...what);
        await next.create(made('next.test'), anything);
        return isGone;
      },
    }));
    await deleting.delete('a');
    expect(await profile()).toEqual(reaching('next.test'));
  });

  it('disappear with the next removal of remains, and do not apply to a new workload', async () => {
    const { resources } = opened.replica();
    const one = replica();
    await one.create(made('former.test'), anything);
    await resources.delete('MCPServer', 'a');
    await one.create(made('next.test'), anything);
    expect(await profile()).toEqual(reaching('next.test'));
    await one.delete('a');
    expect(await heldProfile()).toBeUndefined();
  });

  it('do not overwrite a foreign ConfigMap, and leave no workload without its profile', async () => {
    opened.writeByHand('a-permissions');
    await expect(replica().create(made('a.test'), anything)).rejects.toMatchObject({ code: 'conflict' });
    expect([await replica().all(), (await heldProfile())?.data]).toEqual([[], {}]);
  });
});
