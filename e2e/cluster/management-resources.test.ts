import { beforeAll, describe, expect, it } from '@jest/globals';
import { clusterResources } from '#management/stores/cluster-resources';
import { resourcesContract } from '#management/stores/contract/resources.contract';
import type { Resources } from '#management/stores/resources';
import { installDefinitions } from './stage.ts';
import { useApis } from './use-apis.ts';
import { describeWithCluster } from './use-cluster.ts';

const GROUP = 'vmcp.dev';

describeWithCluster('resources of a cluster', (cluster) => {
  const { openApi, makeNamespace } = useApis(cluster, 'management');
  const open = async (inside?: string): Promise<{ resources: Resources; namespace: string }> => {
    const namespace = inside ?? (await makeNamespace()).name;
    return { resources: clusterResources({ api: openApi(), namespace, apiGroup: GROUP }), namespace };
  };
  beforeAll(() => installDefinitions(cluster));

  resourcesContract('a namespace of a real cluster', async () => {
    const one = await open();
    const two = await open(one.namespace);
    const elsewhere = await open();
    return { one: one.resources, two: two.resources, elsewhere: elsewhere.resources, close: () => undefined };
  });

  describe('with fields of another manager', () => {
    let resources: Resources;
    let path: string;
    const read = async () => (await resources.get('MCPServer', 'owned'))!;
    beforeAll(async () => {
      const opened = await open();
      resources = opened.resources;
      path = `/apis/${GROUP}/v1alpha1/namespaces/${opened.namespace}/mcpservers/owned`;
      const { status } = await cluster.apply(
        path,
        {
          apiVersion: `${GROUP}/v1alpha1`,
          kind: 'MCPServer',
          metadata: { name: 'owned', namespace: opened.namespace },
          spec: { image: 'example/x:1', env: [{ name: 'A', value: '1' }], path: '/theirs' },
        },
        { manager: 'argocd' },
      );
      expect(status).toBe(201);
    });

    it('appear without a status until an operator reconciles them', async () => {
      expect((await cluster.ask('GET', path)).body.status.conditions).toMatchObject([{ reason: 'NotLookedAt' }]);
      expect(await read()).toMatchObject({ spec: { image: 'example/x:1' }, status: undefined });
    });

    it('refuse a change, and name the manager', async () => {
      const before = await read();
      await expect(resources.replace({ ...before, spec: { ...before.spec, image: 'y' } })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('"argocd" owns what would change'),
      });
      expect(await read()).toEqual(before);
    });

    it('refuse the removal of a field, which a plain apply would ignore silently', async () => {
      const before = await read();
      const spec = Object.fromEntries(Object.entries(before.spec).filter(([field]) => field !== 'path'));
      await expect(resources.replace({ ...before, spec })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('"argocd"'),
      });
      expect((await read()).spec.path).toBe('/theirs');
      expect((await resources.replace({ ...before, spec }, { force: true })).spec).not.toHaveProperty('path');
    });

    it('accept changes of other fields, which this manager then owns and can change again', async () => {
      const before = await read();
      const first = await resources.replace({ ...before, spec: { ...before.spec, mcpPort: 9000 } });
      expect(first.spec.mcpPort).toBe(9000);
      const second = await resources.replace({ ...first, spec: { ...first.spec, mcpPort: 9001 } });
      expect(second.spec.mcpPort).toBe(9001);
      const spec = Object.fromEntries(Object.entries(second.spec).filter(([field]) => field !== 'mcpPort'));
      expect((await resources.replace({ ...second, spec })).spec).not.toHaveProperty('mcpPort');
    });

    it('accept forced changes', async () => {
      const before = await read();
      const after = await resources.replace({ ...before, spec: { ...before.spec, image: 'y' } }, { force: true });
      expect(after.spec.image).toBe('y');
      expect((await resources.replace({ ...after, spec: { ...after.spec, image: 'z' } })).spec.image).toBe('z');
    });

    it('belong to this manager after a forced change: the next change needs no force', async () => {
      const place = path.replace('owned', 'taken');
      const metadata = { name: 'taken', labels: { theirs: 'x' } };
      const spec = { image: 'example/x:1', path: '/theirs' };
      await cluster.apply(
        place,
        { apiVersion: `${GROUP}/v1alpha1`, kind: 'MCPServer', metadata, spec },
        { manager: 'argocd' },
      );
      const before = (await resources.get('MCPServer', 'taken'))!;
      const written = { ...spec, path: undefined, transport: 'stdio', mcpPort: 9000, endpointPrefix: '/x' };
      const wanted = { ...before, labels: {}, spec: JSON.parse(JSON.stringify(written)) as typeof before.spec };
      const taken = await resources.replace(wanted, { force: true });
      expect([taken.spec, taken.labels]).toEqual([expect.objectContaining(wanted.spec), {}]);
      expect(taken.spec).not.toHaveProperty('path');
      const next = await resources.replace({ ...taken, spec: { ...taken.spec, mcpPort: 9001 } });
      expect(next.spec.mcpPort).toBe(9001);
      // The other manager still owns the image; this change must not conflict with that.
      const rest = Object.fromEntries(Object.entries(next.spec).filter(([field]) => field !== 'endpointPrefix'));
      expect((await resources.replace({ ...next, spec: rest })).spec).toEqual(rest);
    });

    it('receive only server-side apply if there is no conflict', async () => {
      const wanted = { kind: 'MCPServer', name: 'plain', labels: { team: 'a' }, annotations: {} } as const;
      await resources.create({ ...wanted, spec: { image: 'example/x:1' } });
      await resources.replace({ ...wanted, spec: { image: 'example/x:1', mcpPort: 9000 } });
      const { body } = await cluster.ask('GET', path.replace('owned', 'plain'));
      const { managedFields } = body.metadata as { managedFields: { manager: string; operation: string }[] };
      expect(managedFields.map(({ manager, operation }) => [manager, operation])).toEqual([
        ['vmcp-management', 'Apply'],
      ]);
    });

    it('have the same version after a status was written', async () => {
      const before = await read();
      const { status } = await cluster.ask(
        'PATCH',
        `${path}/status`,
        { status: { phase: 'Ready', conditions: [] } },
        { 'content-type': 'application/merge-patch+json' },
      );
      expect(status).toBe(200);
      const after = await read();
      expect(after.status?.phase).toBe('Ready');
      expect(after.version).toBe(before.version);
      await resources.replace({ ...after, spec: { ...after.spec, path: '/ours' } }, { expected: [before.version] });
    });
  });
});
