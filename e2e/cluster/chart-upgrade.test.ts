import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../local/run-vmcp.ts';
import { NAMESPACED, ownGroup, renderChart } from './chart.ts';
import { IMAGES } from './images.ts';
import { isDone, KINDS, releaseOf } from './release.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const TESTDATA = join(import.meta.dirname, 'testdata');

describeWithCluster('an upgrade of the chart from the version before', (cluster) => {
  const group = ownGroup('upgrade');
  let namespace: Namespace;
  const release = releaseOf(cluster, group, () => namespace.name);
  const { kubectl } = release;
  const schemaOf = async () => {
    const { body } = await cluster.ask(
      'GET',
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/virtualmcpservers.${group}`,
    );
    return (
      body as {
        spec: { versions: [{ schema: { openAPIV3Schema: { properties: { spec: { properties?: object } } } } }] };
      }
    ).spec.versions[0].schema.openAPIV3Schema.properties.spec.properties;
  };

  beforeAll(async () => {
    namespace = await cluster.makeNamespace('upgrade');
    const values = [`--set=apiGroup=${group}`, `--set=image=${IMAGES.operator}`, '--wait', '--timeout=60s'];
    isDone(await release.run('install', join(TESTDATA, 'previous-chart'), ...values));
    await cluster.kubectl([
      'wait',
      '--for=condition=Established',
      '--timeout=30s',
      ...KINDS.map((kind) => `crd/${kind}.${group}`),
    ]);
    const resources = readFileSync(join(TESTDATA, 'previous-resources.yaml'), 'utf8').replaceAll('API_GROUP', group);
    isDone(await release.apply(resources));
    isDone(await release.upgrade());
  }, 240_000);

  afterAll(async () => {
    await kubectl(
      'patch',
      `virtualmcpservers.${group}/former`,
      '--type=merge',
      '--patch={"metadata":{"finalizers":null}}',
    );
    await release.run('uninstall', '--wait', '--timeout=60s');
    await release.removeDefinitions();
    await namespace.delete();
  });

  it('brings the definitions of the new version, and every resource outlives stricter rules', async () => {
    expect(await schemaOf()).toHaveProperty('incomingAuth');
    const { stdout } = await kubectl(
      'get',
      `virtualmcpservers.${group},mcpservers.${group},mcpgroups.${group}`,
      '-o',
      'name',
    );
    expect(stdout.trim().split('\n')).toHaveLength(3);
    isDone(await kubectl('wait', `virtualmcpservers.${group}/former`, '--for=condition=Stalled', '--timeout=60s'));
    const said = await kubectl(
      'get',
      `virtualmcpservers.${group}/former`,
      '-o',
      'jsonpath={.status.conditions[0].message}',
    );
    expect(said.stdout).toContain('did you mean `sessionStorage`?');
  });

  it('lets everybody go on who changes something else about a resource that would be refused today', async () => {
    isDone(await kubectl('label', `virtualmcpservers.${group}/former`, 'team=a'));
    const replace = (patch: object[]) =>
      kubectl('patch', `virtualmcpservers.${group}/former`, '--type=json', `--patch=${JSON.stringify(patch)}`);
    const mended = await replace([
      { op: 'remove', path: '/spec/sesionStorage' },
      { op: 'remove', path: '/spec/replicas' },
      { op: 'replace', path: '/spec/incomingAuth/type', value: 'anonymous' },
    ]);
    expect([mended.code, mended.stderr]).toEqual([0, expect.not.stringContaining('rror')]);
    const { stdout } = await eventually(
      () => kubectl('get', `virtualmcpservers.${group}/former`, '-o', 'jsonpath={.status.conditions[*].type}'),
      ({ stdout: types }) => !types.includes('Stalled'),
      30_000,
    );
    expect(stdout).toContain('Anonymous');
  });

  it('can be rolled back and made again, and nothing is lost', async () => {
    isDone(await release.run('rollback', '1', '--wait', '--timeout=120s'));
    expect(await schemaOf()).toBeUndefined();
    isDone(await release.upgrade());
    expect(await schemaOf()).toHaveProperty('incomingAuth');
    const { stdout } = await kubectl(
      'get',
      `virtualmcpservers.${group},mcpservers.${group},mcpgroups.${group}`,
      '-o',
      'name',
    );
    expect(stdout.trim().split('\n')).toHaveLength(3);
  }, 240_000);
});

describeWithCluster('an installation for some namespaces', (cluster) => {
  const group = ownGroup('namespaced');
  let namespace: Namespace;
  let served: Namespace;
  let other: Namespace;
  const release = releaseOf(cluster, group, () => namespace.name);

  beforeAll(async () => {
    [namespace, served, other] = (await Promise.all(
      ['own', 'served', 'other'].map((suite) => cluster.makeNamespace(suite)),
    )) as [Namespace, Namespace, Namespace];
    const definitions = await renderChart([`--set=apiGroup=${group}`, '--show-only=templates/crds/*.yaml']);
    isDone(await cluster.kubectl(['apply', '--server-side', '-f', '-'], definitions));
    await cluster.kubectl([
      'wait',
      '--for=condition=Established',
      '--timeout=30s',
      ...KINDS.map((kind) => `crd/${kind}.${group}`),
    ]);
    isDone(await release.install(NAMESPACED, `--set=watchNamespaces={${served.name}}`));
  }, 150_000);

  afterAll(async () => {
    await release.run('uninstall', '--wait', '--timeout=60s');
    await release.removeDefinitions();
    await Promise.all([namespace, served, other].map((one) => one.delete()));
  });

  it('serves these alone, with roles there and nothing cluster-wide', async () => {
    const text = JSON.stringify({ apiVersion: `${group}/v1alpha1`, kind: 'MCPGroup', metadata: { name: 'tools' } });
    for (const { name } of [served, other]) isDone(await cluster.kubectl(['-n', name, 'apply', '-f', '-'], text));
    isDone(
      await cluster.kubectl([
        '-n',
        served.name,
        'wait',
        `mcpgroups.${group}/tools`,
        '--for=condition=Ready',
        '--timeout=30s',
      ]),
    );
    const { stdout } = await cluster.kubectl([
      '-n',
      other.name,
      'get',
      `mcpgroups.${group}/tools`,
      '-o',
      'jsonpath={.status.conditions[*].reason}',
    ]);
    expect(stdout).toBe('NotLookedAt');
    const wide = await cluster.kubectl(['get', 'clusterroles,clusterrolebindings', '-o', 'name']);
    expect(wide.stdout).not.toContain(release.name);
  });
});
