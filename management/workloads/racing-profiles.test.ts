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

interface Place {
  resources: Resources;
  configMaps: ConfigMaps;
}

/** Each call gives what another process has of the same place. */
interface Opened {
  replica: () => Place;
  /** Somebody writes a ConfigMap of that name by hand. */
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

  /** One of several processes; some of what it does to resources may go otherwise. */
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

  it('are changed by one of two who read the same, and the other one is told so', async () => {
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

  it('stay as another one wrote them when an edit fails after it wrote its own', async () => {
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

  it('are as they were when an edit fails, and nobody else wrote', async () => {
    await replica().create(made('first.test'), anything);
    const failing = replica(() => ({ replace: () => Promise.reject(new Problem('conflict', 'somebody owns it')) }));
    const edit = failing.edit('a', { permission_profile: reaching('mine.test') }, anything, {});
    await expect(edit).rejects.toMatchObject({ code: 'conflict' });
    expect(await profile()).toEqual(reaching('first.test'));
  });

  it('stay with an edit that was done, though its answer was lost', async () => {
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

  it('are as they were when there is no answer and nothing was done', async () => {
    await replica().create(made('first.test'), anything);
    const away = replica((resources) => ({
      async replace() {
        const found = await resources.get('MCPServer', 'a');
        // Another version, of somebody else.
        if (found) await resources.replace({ ...found, spec: { ...found.spec, image: 'example/x:3' } }, {});
        throw new Problem('unavailable', 'it did not answer');
      },
    }));
    const edit = away.edit('a', { ...made('mine.test'), image: 'example/x:2' }, anything, {});
    await expect(edit).rejects.toMatchObject({ code: 'unavailable' });
    expect(await profile()).toEqual(reaching('first.test'));
  });

  it('that cannot be put back when an edit fails do not hide why it failed', async () => {
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

  it('are those of whoever made the workload, and not of who was too late', async () => {
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

  it('of a workload that is made again stay when what was left of the former one is taken away', async () => {
    const { resources } = opened.replica();
    const next = replica();
    await next.create(made('former.test'), anything);
    // A process that ended here.
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

  it('of a workload that is made again at once stay, though the former one is still being taken away', async () => {
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

  it('that are left of a workload go with the next look at what is left, and are none of a new one', async () => {
    const { resources } = opened.replica();
    const one = replica();
    await one.create(made('former.test'), anything);
    await resources.delete('MCPServer', 'a');
    await one.create(made('next.test'), anything);
    expect(await profile()).toEqual(reaching('next.test'));
    await one.delete('a');
    expect(await heldProfile()).toBeUndefined();
  });

  it('are not written over a ConfigMap of somebody else, and no workload is left without its own', async () => {
    opened.writeByHand('a-permissions');
    await expect(replica().create(made('a.test'), anything)).rejects.toMatchObject({ code: 'conflict' });
    expect([await replica().all(), (await heldProfile())?.data]).toEqual([[], {}]);
  });
});
