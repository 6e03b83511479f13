import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Program } from '../gateway/start-program.ts';
import { eventually } from '../local/run-vmcp.ts';
import { FIELD_MANAGER } from '#operator/kubernetes/api/resources';
import { untilReady } from './operator-metrics.ts';
import { backend, group, installDefinitions, server, Stage } from './stage.ts';
import { startOperator } from './start-operator.ts';
import { describeWithCluster } from './use-cluster.ts';

// Reads the managed fields of a real API server. No pod is needed, so the server has none.

const CHILDREN = ['ConfigMap', 'Secret', 'Service', 'ServiceAccount', 'Deployment', 'NetworkPolicy'];
const DEPLOYMENT = 'vmcp-staff';
/** Two fields that the operator writes, and one that it never writes. */
const AUTOSCALER = {
  scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'another' },
  maxReplicas: 50,
  behavior: { scaleDown: { stabilizationWindowSeconds: 17 } },
};
const OURS = { 'app.kubernetes.io/instance': 'staff' };

interface Managed {
  metadata: { finalizers?: string[]; managedFields?: { manager: string; operation: string; subresource?: string }[] };
}
interface Template {
  replicas: number;
  revisionHistoryLimit: number;
  template: { metadata: { labels: Record<string, string> }; spec: { containers: { image: string }[] } };
}

describeWithCluster('ownership of the fields of a server’s objects', (cluster) => {
  const stage = new Stage(cluster);
  let operator: Program;
  beforeAll(async () => {
    await installDefinitions(cluster);
    stage.namespace = await cluster.makeNamespace('fields');
    operator = await startOperator(cluster, [stage.namespace.name]);
    await untilReady(operator);
    const remote = { remoteUrl: 'http://127.0.0.1:9/one', transport: 'streamable-http', groupRef: 'team' };
    await stage.apply(group('team'), backend('one', remote), server('staff', 'team', { replicas: 0 }));
    // No node has capacity for its pods.
    const wide = {
      autoscaling: { minReplicas: 2, maxReplicas: 4 },
      sessionStorage: { provider: 'redis', address: 'redis.invalid:6379' },
      podTemplateSpec: { spec: { nodeSelector: { never: 'here' } } },
    };
    await stage.apply(server('wide', 'team', wide));
    await eventually(
      () => stage.get('Deployment', DEPLOYMENT),
      (live) => live !== undefined,
    );
  }, 90_000);
  afterAll(async () => {
    await operator.stop();
    await stage.namespace.delete();
  });

  const path = () => `/apis/apps/v1/namespaces/${stage.namespace.name}/deployments/${DEPLOYMENT}`;
  const deployment = async () => {
    const live = await stage.get('Deployment', DEPLOYMENT);
    return { ...(live as unknown as Managed), ...(live?.metadata ?? {}), spec: live?.spec as unknown as Template };
  };
  /** Applies fields as another manager, by force. */
  const applyAs = async (manager: string, fields: { metadata?: object; spec?: object }) => {
    const { metadata, spec } = fields;
    const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: DEPLOYMENT, ...metadata }, spec };
    const { status, body } = await cluster.apply(path(), object, { manager, force: true });
    expect([status, body.code]).toEqual([200, undefined]);
  };
  const generation = async () => (await stage.get('VirtualMCPServer', 'staff'))?.metadata.generation;
  /** Makes an edit that changes the Deployment, and waits until the operator has applied it. */
  const edit = async (label: string) => {
    const podTemplateSpec = { metadata: { labels: { round: label } } };
    await stage.patch('VirtualMCPServer', 'staff', { spec: { podTemplateSpec } });
    await eventually(deployment, ({ spec }) => spec.template.metadata.labels.round === label);
  };

  it('keeps fields of another manager over every write of the operator', async () => {
    await applyAs('team-tool', {
      metadata: { annotations: { 'team/owner': 'ann' } },
      spec: { revisionHistoryLimit: 3 },
    });
    await edit('one');
    const live = await deployment();
    expect([live.annotations?.['team/owner'], live.spec.revisionHistoryLimit]).toEqual(['ann', 3]);
    const managers = live.metadata.managedFields?.map(({ manager, operation }) => `${operation} ${manager}`);
    expect(managers?.sort()).toEqual(expect.arrayContaining([`Apply ${FIELD_MANAGER}`, 'Apply team-tool']));
    // All writes of the operator use one manager name, so that a field that a write omits is removed.
    expect(managers?.filter((one) => one.includes('vmcp'))).toEqual([`Apply ${FIELD_MANAGER}`]);
  }, 60_000);

  it('restores the operator’s fields, also after another manager took them over by force', async () => {
    const { image } = (await deployment()).spec.template.spec.containers[0]!;
    await applyAs('evil', {
      spec: {
        replicas: 2,
        selector: { matchLabels: { 'app.kubernetes.io/name': 'vmcp-runtime', ...OURS } },
        template: { spec: { containers: [{ name: 'vmcp', image: 'registry.evil.example/vmcp:1' }] } },
      },
    });
    const isOurs = ({ spec }: Awaited<ReturnType<typeof deployment>>) =>
      spec.replicas === 0 && spec.template.spec.containers[0]?.image === image;
    await eventually(deployment, isOurs, 30_000);
  }, 60_000);

  it('removes fields that the operator no longer writes, and keeps those of another manager', async () => {
    await edit('two');
    await applyAs('team-tool', { metadata: { annotations: { 'team/owner': 'ann' } } });
    await stage.patch('VirtualMCPServer', 'staff', { spec: { podTemplateSpec: null } });
    await eventually(deployment, ({ spec }) => spec.template.metadata.labels.round === undefined);
    expect((await deployment()).annotations?.['team/owner']).toBe('ann');
  }, 60_000);

  it.each([
    ['HorizontalPodAutoscaler', 'autoscaling/v2', 'horizontalpodautoscalers', AUTOSCALER],
    ['PodDisruptionBudget', 'policy/v1', 'poddisruptionbudgets', { maxUnavailable: 2 }],
    ['NetworkPolicy', 'networking.k8s.io/v1', 'networkpolicies', { podSelector: {}, ingress: [{}] }],
  ])(
    'restores fields of a %s, and keeps additions of another manager',
    async (kind, apiVersion, plural, spec) => {
      const made = await eventually(() => stage.get(kind, 'vmcp-wide'), Boolean);
      const own = { name: 'vmcp-wide', annotations: { 'team/owner': 'ann' } };
      const at = `/apis/${apiVersion}/namespaces/${stage.namespace.name}/${plural}/vmcp-wide`;
      const object = { apiVersion, kind, metadata: own, spec };
      const { status, body } = await cluster.apply(at, object, { manager: 'team-tool', force: true });
      expect(status).toBe(200);
      expect(body.spec).not.toEqual(made?.spec);
      const added = kind === 'HorizontalPodAutoscaler' ? { behavior: body.spec.behavior as object } : {};
      const live = await eventually(
        () => stage.get(kind, 'vmcp-wide'),
        (now) => isDeepStrictEqual(now?.spec, { ...made?.spec, ...added }),
        30_000,
      );
      expect(live?.metadata.annotations).toMatchObject(own.annotations);
    },
    60_000,
  );

  it('includes no finalizer: there is no external state to clean up, so deletion never waits for the operator', async () => {
    const objects = (await Promise.all(CHILDREN.map((kind) => stage.list(kind)))).flat();
    const ours = objects.filter(({ metadata }) => metadata.ownerReferences?.some(({ name }) => name === 'staff'));
    expect(new Set(ours.map(({ kind }) => kind))).toEqual(new Set(CHILDREN));
    const own = [await stage.get('VirtualMCPServer', 'staff'), await stage.get('MCPServer', 'one')];
    for (const object of [...ours, ...own]) expect((object as unknown as Managed).metadata.finalizers).toBeUndefined();
    await operator.stop();
    await stage.remove('VirtualMCPServer', 'staff');
    expect(await generation()).toBeUndefined();
  }, 60_000);
});
