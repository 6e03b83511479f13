import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Program } from '../gateway/start-program.ts';
import { eventually } from '../local/run-vmcp.ts';
import { FIELD_MANAGER } from '#operator/kubernetes/api/resources';
import { backend, group, installDefinitions, type Seen, server, Stage } from './stage.ts';
import { untilReady } from './operator-metrics.ts';
import { HASTENED, OPERATOR_ACCOUNT, startOperator } from './start-operator.ts';
import { describeWithCluster } from './use-cluster.ts';

// Reads the owner of the number of pods from the API server's managed fields. No node takes the pods, and they have no
// metrics; the cluster's autoscaler still enforces its limits.

const DEPLOYMENT = 'vmcp-wide';
const NOWHERE = { nodeSelector: { never: 'here' } };
const MINUTE = 60_000;

interface Scaled {
  metadata: { managedFields?: { manager: string; fieldsV1?: { 'f:spec'?: object } }[] };
  spec: { replicas: number; template: { metadata: { labels: Record<string, string> } } };
}

interface Rule {
  resources: string[];
  verbs: string[];
}

describeWithCluster('the number of pods of a server', (cluster) => {
  const stage = new Stage(cluster);
  let operator: Program;
  const start = async () => {
    operator = await startOperator(cluster, [stage.namespace.name], [], { env: HASTENED });
    await untilReady(operator);
  };
  beforeAll(async () => {
    await installDefinitions(cluster);
    stage.namespace = await cluster.makeNamespace('scaling');
    await start();
    const remote = { remoteUrl: 'http://127.0.0.1:9/one', transport: 'streamable-http', groupRef: 'team' };
    const spec = {
      autoscaling: { minReplicas: 2, maxReplicas: 4 },
      sessionStorage: { provider: 'redis', address: 'redis.invalid:6379' },
      podTemplateSpec: { spec: NOWHERE },
    };
    await stage.apply(group('team'), backend('one', remote), server('wide', 'team', spec));
    await eventually(() => stage.get('HorizontalPodAutoscaler', DEPLOYMENT), Boolean);
    await eventually(() => stage.get('Deployment', DEPLOYMENT), Boolean);
  }, 2 * MINUTE);
  afterAll(async () => {
    await operator.stop();
    await stage.namespace.delete();
  });

  const deployment = async () => {
    const { metadata, spec } = (await stage.get('Deployment', DEPLOYMENT)) as unknown as Scaled;
    const owners = (metadata.managedFields ?? []).filter(
      ({ fieldsV1 }) => fieldsV1?.['f:spec'] && 'f:replicas' in fieldsV1['f:spec'],
    );
    return {
      replicas: spec.replicas,
      owners: owners.map(({ manager }) => manager),
      labels: spec.template.metadata.labels,
    };
  };
  const scale = async (what: string, replicas: number) =>
    cluster.kubectl(['-n', stage.namespace.name, 'scale', what, `--replicas=${replicas}`]);
  const scaleDeployment = async (replicas: number) => {
    const { code, stderr } = await scale(`deployment/${DEPLOYMENT}`, replicas);
    expect([code, stderr]).toEqual([0, '']);
  };
  /** Makes an edit that changes the Deployment, and waits until the operator has applied it. */
  const edit = async (round: string) => {
    const podTemplateSpec = { metadata: { labels: { round } }, spec: NOWHERE };
    await stage.patch('VirtualMCPServer', 'wide', { spec: { podTemplateSpec } });
    await eventually(deployment, ({ labels }) => labels.round === round);
    return deployment();
  };

  it(
    'belongs to the operator with autoscaling until another manager writes it, and then survives each edit of the operator',
    async () => {
      expect(await deployment()).toMatchObject({ replicas: 2, owners: [FIELD_MANAGER] });
      await scaleDeployment(3);
      expect(await deployment()).toMatchObject({ replicas: 3, owners: ['kubectl'] });
      expect(await edit('one')).toMatchObject({ replicas: 3, owners: ['kubectl'] });
    },
    MINUTE,
  );

  it('belongs to the autoscaler once that writes it, also for a restarted operator', async () => {
    await scaleDeployment(7);
    await eventually(deployment, ({ replicas }) => replicas === 4, 2 * MINUTE);
    const { owners } = await deployment();
    expect(owners).toEqual([expect.not.stringMatching(`^(kubectl|${FIELD_MANAGER})$`)]);
    expect(await edit('two')).toMatchObject({ replicas: 4, owners });
    await operator.stop();
    await start();
    expect(await edit('three')).toMatchObject({ replicas: 4, owners });
  }, 240_000);

  it('rejects kubectl scale of the server beside autoscaling, with the reason', async () => {
    const refused = await scale('virtualmcpservers.vmcp.dev/wide', 3);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('the autoscaler sets them')]);
    expect((await deployment()).replicas).toBe(4);
  });

  it(
    'returns to the written number when autoscaling goes, even if another client scales the Deployment',
    async () => {
      await stage.patch('VirtualMCPServer', 'wide', { spec: { autoscaling: null, replicas: 2 } });
      const isWritten = ({ replicas, owners }: Awaited<ReturnType<typeof deployment>>) =>
        replicas === 2 && owners.join() === FIELD_MANAGER;
      await eventually(deployment, isWritten, MINUTE);
      await eventually(
        () => stage.get('HorizontalPodAutoscaler', DEPLOYMENT),
        (live) => live === undefined,
      );
      await scaleDeployment(5);
      await eventually(deployment, isWritten, MINUTE);
      expect((await scale('virtualmcpservers.vmcp.dev/wide', 3)).code).toBe(0);
      await eventually(deployment, ({ replicas }) => replicas === 3, MINUTE);
    },
    3 * MINUTE,
  );

  it('reports a missing disruption budget while the operator may not create one', async () => {
    const { rules = [] } = ((await stage.get('Role', OPERATOR_ACCOUNT)) ?? {}) as { rules?: Rule[] };
    const less = rules.map((rule) =>
      rule.resources.includes('poddisruptionbudgets') ? { ...rule, verbs: ['get', 'list', 'watch'] } : rule,
    );
    expect(less).not.toEqual(rules);
    await stage.patch('Role', OPERATOR_ACCOUNT, { rules: less });
    await eventually(mayMakeBudgets, (allowed) => !allowed);
    await stage.patch('VirtualMCPServer', 'wide', { spec: { podDisruptionBudget: { maxUnavailable: 2 } } });
    const forbidden = ({ conditions = [] }: Seen) => conditions.filter(({ reason }) => reason === 'ChildForbidden');
    const status = await stage.status('VirtualMCPServer', 'wide', (seen) => forbidden(seen).length > 0, MINUTE);
    expect(forbidden(status)[0]?.message).toContain('PodDisruptionBudget "vmcp-wide"');
    await stage.patch('Role', OPERATOR_ACCOUNT, { rules });
    const budget = async () => (await stage.get('PodDisruptionBudget', DEPLOYMENT))?.spec?.maxUnavailable;
    await eventually(budget, (value) => value === 2, 2 * MINUTE);
  }, 240_000);

  async function mayMakeBudgets(): Promise<boolean> {
    const { name: namespace } = stage.namespace;
    const resourceAttributes = { namespace, group: 'policy', resource: 'poddisruptionbudgets', verb: 'patch' };
    const { body } = await cluster.ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: `system:serviceaccount:${namespace}:${OPERATOR_ACCOUNT}`, resourceAttributes },
    });
    return body.status.allowed as boolean;
  }
});
