import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, request } from 'undici';
import { eventually } from '../local/run-vmcp.ts';
import { NAMESPACED, ownGroup, renderChart } from './chart.ts';
import { IMAGES } from './images.ts';
import { underLoad, untilAllGoOn } from './load.ts';
import { minorRelease } from './minor-release.ts';
import { findPreviousChart } from './previous-chart.ts';
import { isDone, KINDS, releaseOf } from './release.ts';
import { untilSettled } from './replace-pods.ts';
import { backend, fake, group as toolGroup, server, Stage } from './stage.ts';
import { startRedisPod } from './start-redis-pod.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const TESTDATA = join(import.meta.dirname, 'testdata');
const FIXTURE = join(TESTDATA, 'previous-chart');
const REPLICAS = 2;
const MINUTE = 60_000;
/** From this minor release on, all API servers validate only the changed fields of a status write. */
const RATCHETS_STATUSES = 33;
/** The previous chart has a Service of the management API, which selects its operator. */
const MANAGED = '--set=management.enabled=true';

interface ManagementService {
  metadata: { uid: string };
  spec: { clusterIP: string; selector: Record<string, string> };
}

describeWithCluster('an upgrade of the chart from the version before', (cluster) => {
  const group = ownGroup('upgrade');
  let namespace: Namespace;
  let former: ManagementService;
  const folder = mkdtempSync(join(tmpdir(), 'previous-chart-'));
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
  const resources = async () => {
    const { stdout } = await kubectl('get', KINDS.map((kind) => `${kind}.${group}`).join(), '-o', 'name');
    return stdout.trim().split('\n').sort();
  };

  const serviceOf = async () => {
    const { stdout } = await kubectl('get', `service/${release.name}-management`, '-o', 'json');
    return JSON.parse(stdout) as ManagementService;
  };
  const authority = async () =>
    (await kubectl('get', `configmap/${release.name}-management-ca`, '-o', 'jsonpath={.data.ca\\.crt}')).stdout;

  /** Returns the status of the management API at the address of its Service, for a caller without a token. */
  const askManagement = async (ca: string, { spec: { clusterIP } }: ManagementService) => {
    const dispatcher = new Agent({ connect: { ca, servername: `${release.name}-management.${namespace.name}.svc` } });
    try {
      const url = `https://${clusterIP}:4485/api/v1beta/version`;
      const answer = await request(url, { dispatcher, signal: AbortSignal.timeout(10_000) });
      await answer.body.dump();
      return answer.statusCode;
    } catch (problem) {
      return String(problem);
    } finally {
      await dispatcher.destroy();
    }
  };

  /**
   * Older API servers refuse a status of a resource that the current rules refuse; then only Events report the problem.
   */
  const takesStatus = async (resource: string) => {
    if ((await minorRelease(cluster)) >= RATCHETS_STATUSES) return true;
    const asked = ['--subresource=status', '--type=merge', '--dry-run=server'];
    return (await kubectl('patch', resource, ...asked, '--patch={"status":{"phase":"Failed"}}')).code === 0;
  };

  beforeAll(async () => {
    namespace = await cluster.makeNamespace('upgrade');
    const values = [`--set=apiGroup=${group}`, `--set=image=${IMAGES.operator}`, '--wait', '--timeout=60s'];
    isDone(await release.run('install', FIXTURE, ...values));
    former = await serviceOf();
    await release.established();
    const written = readFileSync(join(TESTDATA, 'previous-resources.yaml'), 'utf8').replaceAll('API_GROUP', group);
    isDone(await release.apply(written));
    const runtime = `--set=runtime.image.tag=${IMAGES.formerRuntime.split(':')[1] ?? ''}`;
    const previous = findPreviousChart(ROOT, folder, FIXTURE);
    // The second revision, to which the tests roll back: the last tagged release, if any.
    if (previous !== FIXTURE) isDone(await release.upgradeTo(previous, runtime, MANAGED));
    isDone(await release.upgrade(runtime, MANAGED));
  }, 360_000);

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
    rmSync(folder, { recursive: true, force: true });
  });

  it('installs the definitions of the new version, and every resource outlives stricter rules', async () => {
    expect(await schemaOf()).toHaveProperty('incomingAuth');
    expect(await resources()).toHaveLength(3);
    const former = `virtualmcpservers.${group}/former`;
    const saysBy = (await takesStatus(former)) ? 'conditions' : 'events';
    const said = await eventually(
      () =>
        saysBy === 'events'
          ? kubectl(
              'get',
              'events',
              '--field-selector=involvedObject.name=former',
              '-o',
              'jsonpath={.items[*].message}',
            )
          : kubectl('get', former, '-o', 'jsonpath={.status.conditions[0].message}'),
      ({ stdout }) => stdout.includes('did you mean `sessionStorage`?'),
      MINUTE,
    );
    expect(said.code).toBe(0);
    if (saysBy === 'conditions') isDone(await kubectl('wait', former, '--for=condition=Stalled', '--timeout=60s'));
  });

  it('admits unrelated edits of a resource that the new rules would refuse', async () => {
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
      ({ stdout: types }) => types.includes('Anonymous') && !types.includes('Stalled'),
      30_000,
    );
    expect(stdout).toContain('Ready');
  });

  it('moves the Service of the management API to its own pods, which answer with the trusted authority', async () => {
    const labels = { 'app.kubernetes.io/name': 'vmcp-management', 'app.kubernetes.io/instance': release.name };
    expect(former.spec.selector).toEqual({ ...labels, 'app.kubernetes.io/name': 'vmcp-operator' });
    const moved = await serviceOf();
    expect(moved.metadata.uid).toBe(former.metadata.uid);
    expect(moved.spec.selector).toEqual(labels);
    const trusted = await authority();
    const answers = (ca: string) =>
      eventually(
        () => askManagement(ca, moved),
        (status) => status === 401,
        MINUTE,
      );
    expect(await answers(trusted)).toBe(401);
    isDone(await kubectl('rollout', 'restart', `deployment/${release.name}-management`));
    isDone(await kubectl('rollout', 'status', `deployment/${release.name}-management`, '--timeout=60s'));
    expect(await authority()).toBe(trusted);
    expect(await answers(trusted)).toBe(401);
  }, 180_000);

  describe('under load', () => {
    const stage = new Stage(cluster);
    let former: string[];

    /** Sends calls during `work`, and until the serving pods have the image. */
    const loaded = async (image: string, work: () => Promise<void>) =>
      underLoad(await stage.endpoint('demo'), 'plain_tool_0', async (load) => {
        await work();
        await eventually(
          imagesInUse,
          (images) => images.length === REPLICAS && images.every((one) => one === image),
          MINUTE,
        );
        await untilSettled(stage, 'demo', REPLICAS);
        await untilAllGoOn(load, 5);
      });
    const imagesInUse = async () => {
      const pods = await stage.list('Pod', 'app.kubernetes.io/name=vmcp-runtime,app.kubernetes.io/instance=demo');
      return pods.map(({ spec }) => (spec as { containers: { image: string }[] }).containers[0]?.image);
    };
    const operators = async () => {
      const pods = await stage.list(
        'Pod',
        `app.kubernetes.io/name=vmcp-operator,app.kubernetes.io/instance=${release.name}`,
      );
      return pods.map(({ metadata }) => metadata.name).sort();
    };

    beforeAll(async () => {
      stage.namespace = namespace;
      const address = await startRedisPod(cluster, namespace.name);
      const objects = [
        toolGroup('tools'),
        backend('plain', fake('tools', 'backend', ['--name', 'plain', '--tools', '1'])),
        server('demo', 'tools', { replicas: REPLICAS, sessionStorage: { provider: 'redis', address } }),
      ];
      const items = objects.map((object) => ({ ...object, apiVersion: `${group}/v1alpha1` }));
      isDone(await release.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items })));
      await eventually(
        () => kubectl('get', `virtualmcpservers.${group}/demo`, '-o', 'jsonpath={.status.phase} {.status.toolCount}'),
        ({ stdout }) => stdout === 'Ready 1',
        2 * MINUTE,
      );
      await untilSettled(stage, 'demo', REPLICAS);
      former = await operators();
    }, 4 * MINUTE);

    it(
      'replaces operators and runtimes, as does a rollback, and no call fails',
      async () => {
        expect(await imagesInUse()).toEqual([IMAGES.formerRuntime, IMAGES.formerRuntime]);
        const upgraded = await loaded(IMAGES.runtime, async () => isDone(await release.upgrade(MANAGED)));
        expect(upgraded.failures).toEqual([]);
        const others = await operators();
        expect(others.filter((name) => former.includes(name))).toEqual([]);
        const back = await loaded(IMAGES.formerRuntime, async () => {
          isDone(await release.run('rollback', '2', '--wait', '--timeout=120s'));
        });
        expect(back.failures).toEqual([]);
        expect((await operators()).filter((name) => others.includes(name))).toEqual([]);
      },
      5 * MINUTE,
    );

    it(
      'loses nothing in a rollback to the previous version and the next upgrade, and no call fails',
      async () => {
        const before = await resources();
        const rolledBack = await loaded(IMAGES.formerRuntime, async () => {
          isDone(await release.run('rollback', '1', '--wait', '--timeout=120s'));
          expect(await schemaOf()).toBeUndefined();
        });
        expect(rolledBack.failures).toEqual([]);
        const upgraded = await loaded(IMAGES.runtime, async () => isDone(await release.upgrade(MANAGED)));
        expect(upgraded.failures).toEqual([]);
        expect(await schemaOf()).toHaveProperty('incomingAuth');
        expect(await resources()).toEqual(before);
      },
      5 * MINUTE,
    );
  });
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
    await release.established();
    isDone(await release.install(NAMESPACED, `--set=watchNamespaces={${served.name}}`));
  }, 150_000);

  afterAll(async () => {
    await release.run('uninstall', '--wait', '--timeout=60s');
    await release.removeDefinitions();
    await Promise.all([namespace, served, other].map((one) => one.delete()));
  });

  it('serves only these, with roles there and nothing cluster-wide', async () => {
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
