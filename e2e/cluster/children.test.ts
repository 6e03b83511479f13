import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { PodTemplate as PodTemplateSchema } from '#crds/parts/pod-template';
import { findRestrictedProblems } from '#operator/plan/check-pod-restricted';
import { mergePodTemplate } from '#operator/plan/merge-pod-template';
import { POD_MERGE_KEYS } from '#operator/plan/pod-merge-keys';
import type { ClusterObject, Outcome } from '#operator/plan/outcome';
import type { Snapshot } from '#operator/snapshot';
import { readMergeKeys } from '../../scripts/read-merge-keys.ts';
import { minorRelease } from './minor-release.ts';
import { collectionOf, WAYS } from './send-manifests.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

// Verifies against a real API server what the plan's golden pairs assume of a cluster. It stores no object.

const FOLDER = join(import.meta.dirname, '../../operator/plan/testdata');

type Child = ClusterObject['object'];

interface PodTemplate {
  metadata: object;
  spec: { serviceAccountName?: string };
}

/** Templates that are merged over the rendered one; the API server's own merge must agree with the plan's. */
const WRITTEN: readonly [string, object][] = [
  ['a variable', { spec: { containers: [{ name: 'vmcp', env: [{ name: 'A', value: 'b' }] }] } }],
  ['a sidecar', { spec: { containers: [{ name: 'side', image: 'x', ports: [{ containerPort: 1 }] }] } }],
  ['another probe', { spec: { containers: [{ name: 'vmcp', livenessProbe: { periodSeconds: 99 } }] } }],
  ['a port more', { spec: { containers: [{ name: 'vmcp', ports: [{ containerPort: 9999, name: 'more' }] }] } }],
  [
    'a volume before one of ours',
    {
      spec: {
        volumes: [
          { name: 'new', emptyDir: {} },
          { name: 'tmp', emptyDir: {} },
        ],
      },
    },
  ],
  ['a volume behind one of ours', { spec: { volumes: [{ name: 'credentials' }, { name: 'new', emptyDir: {} }] } }],
  ['other arguments', { spec: { containers: [{ name: 'vmcp', args: ['x'] }] } }],
  ['a removed probe', { spec: { containers: [{ name: 'vmcp', startupProbe: null }] } }],
  ['a removed volume', { spec: { volumes: [{ name: 'tmp', $patch: 'delete' }] } }],
  ['other volumes', { spec: { volumes: [{ $patch: 'replace' }, { name: 'v', emptyDir: {} }] } }],
  [
    'another kind of volume',
    { spec: { volumes: [{ name: 'tmp', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }] } },
  ],
  [
    'a volume mounted elsewhere',
    { spec: { containers: [{ name: 'vmcp', volumeMounts: [{ name: 'tmp', mountPath: '/x' }] }] } },
  ],
  ['where pods run', { spec: { tolerations: [{ key: 'a', operator: 'Exists' }], nodeSelector: { a: 'b' } } }],
  ['a hosts entry', { spec: { hostAliases: [{ ip: '192.0.2.1', hostnames: ['a'] }] } }],
  ['annotations', { metadata: { annotations: { a: 'b' } } }],
  ['another security context', { spec: { securityContext: { $patch: 'replace', runAsUser: 1 } } }],
  [
    'other spread',
    { spec: { topologySpreadConstraints: [{ topologyKey: 'rack', maxSkew: 2, whenUnsatisfiable: 'DoNotSchedule' }] } },
  ],
];

/** The API server refuses this from this minor version on; the plan refuses it for all versions. */
const HOST_OF_PROBE = { containers: [{ name: 'vmcp', livenessProbe: { httpGet: { host: '192.0.2.1' } } }] };
const REFUSES_HOSTS_OF_PROBES = 34;

/** Templates that the Restricted standard admits or refuses, merged over the rendered one. */
const JUDGED: readonly object[] = [
  { hostNetwork: true },
  { hostPID: true },
  { hostIPC: true },
  { securityContext: { runAsUser: 0 } },
  { securityContext: { runAsNonRoot: false } },
  { securityContext: { seccompProfile: { type: 'Unconfined' } } },
  { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } },
  { securityContext: { sysctls: [{ name: 'net.ipv4.ip_local_port_range', value: '1024 65535' }] } },
  { securityContext: { seLinuxOptions: { type: 'spc_t' } } },
  { securityContext: { seLinuxOptions: { type: 'container_t' } } },
  { securityContext: { appArmorProfile: { type: 'Unconfined' } } },
  { volumes: [{ name: 'v', hostPath: { path: '/' } }] },
  { volumes: [{ name: 'v', nfs: { server: 'x', path: '/' } }] },
  { volumes: [{ name: 'v', emptyDir: {} }] },
  { volumes: [{ name: 'v', csi: { driver: 'x.example' } }] },
  { initContainers: [{ name: 'i', image: 'x' }] },
  ...[
    { securityContext: { privileged: true, allowPrivilegeEscalation: true } },
    { securityContext: { allowPrivilegeEscalation: true } },
    { securityContext: { capabilities: { add: ['SYS_ADMIN'] } } },
    { securityContext: { capabilities: { add: ['NET_BIND_SERVICE'] } } },
    { securityContext: { capabilities: { drop: ['NET_RAW'] } } },
    { securityContext: { runAsUser: 0 } },
    { securityContext: { runAsNonRoot: false } },
    { ports: [{ containerPort: 7, hostPort: 7 }] },
    { env: [{ name: 'A', value: 'b' }] },
  ].map((fields) => ({ containers: [{ name: 'vmcp', ...fields }] })),
  HOST_OF_PROBE,
];

/** Children of a golden pair, and whether the administrator lets pods reach their node. */
interface Pair {
  name: string;
  children: Child[];
  free: boolean;
}

function readPair(name: string): Pair {
  const read = (side: string): unknown => parse(readFileSync(join(FOLDER, `${name}.${side}.yaml`), 'utf8'));
  const { children } = read('out') as Outcome;
  const { platform } = read('in') as Partial<Snapshot>;
  return {
    name,
    children: children.flatMap((child) => (child.platform === 'cluster' ? [child.object] : [])),
    free: platform?.mode === 'cluster' && platform.allowHostPaths,
  };
}

const pairs = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.in.yaml'))
  .map((file) => readPair(file.replace('.in.yaml', '')))
  .filter(({ children }) => children.length > 0);

const moved = (object: Child, namespace: string): Child => ({
  ...object,
  metadata: { ...object.metadata, namespace },
  ...(Array.isArray(object.subjects)
    ? { subjects: object.subjects.map((subject: object) => ({ ...subject, namespace })) }
    : {}),
});

const templateOf = ({ spec }: Child): PodTemplate | undefined =>
  typeof spec === 'object' && spec !== null && 'template' in spec ? (spec.template as PodTemplate) : undefined;

const accounts = new Set(
  pairs.flatMap(({ children }) => children.flatMap((child) => templateOf(child)?.spec.serviceAccountName ?? [])),
);

describe('the golden pairs', () => {
  it('have children of every kind that the operator makes', () => {
    const kinds = new Set(pairs.flatMap(({ children }) => children.map(({ kind }) => kind)));
    expect([...kinds].sort()).toEqual(
      expect.arrayContaining([
        'ConfigMap',
        'Deployment',
        'HorizontalPodAutoscaler',
        'NetworkPolicy',
        'PodDisruptionBudget',
        'Role',
        'RoleBinding',
        'Service',
        'ServiceAccount',
        'StatefulSet',
      ]),
    );
  });
});

describeWithCluster('the children of resources on a real API server', (cluster) => {
  let namespace: Namespace;

  beforeAll(async () => {
    namespace = await cluster.makeNamespace('children');
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await cluster.apply(`/api/v1/namespaces/${namespace.name}`, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace.name, labels },
    });
    for (const name of ['default', ...accounts]) {
      await cluster.apply(`/api/v1/namespaces/${namespace.name}/serviceaccounts/${name}`, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name },
      });
    }
  });
  afterAll(() => namespace.delete());

  const rendered = pairs
    .find(({ name }) => name === 'cluster-server')
    ?.children.find(({ kind }) => kind === 'Deployment');
  const template = (rendered?.spec as { template: PodTemplate } | undefined)?.template ?? { metadata: {}, spec: {} };

  it('merge by the keys of the table', async () => {
    const { body } = await cluster.ask('GET', '/openapi/v2');
    const { definitions } = body as { definitions: Parameters<typeof readMergeKeys>[0] };
    expect(readMergeKeys(definitions, 'io.k8s.api.core.v1.PodTemplateSpec')).toEqual(POD_MERGE_KEYS);
  });

  it.each(WRITTEN)('merge %s as the plan does', async (_what, written) => {
    const name = 'merged';
    const spec = { replicas: 0, selector: { matchLabels: { a: 'merged' } } };
    const labels = { metadata: { labels: { a: 'merged' } } };
    const whole = mergePodTemplate(template, labels) as PodTemplate;
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } };
    const path = `${collectionOf(deployment, namespace.name)}/${name}`;
    await cluster.apply(path, { ...deployment, spec: { ...spec, template: whole } });
    const type = { 'content-type': 'application/strategic-merge-patch+json' };
    const theirs = await cluster.ask('PATCH', `${path}?dryRun=All`, { spec: { template: written } }, type);
    const merged = { ...deployment, spec: { ...spec, template: mergePodTemplate(whole, written) } };
    const ours = await cluster.ask('PUT', `${path}?dryRun=All`, merged);
    const outcome = ({ status, body }: typeof ours): unknown[] => [status, body.spec?.template ?? body.message];
    expect(outcome(ours)).toEqual(outcome(theirs));
  });

  it.each(JUDGED)('agree with the plan about the Restricted standard: %j', async (spec) => {
    const judged = mergePodTemplate(template, { spec }) as PodTemplate;
    const pod = { apiVersion: 'v1', kind: 'Pod', ...judged, metadata: { name: 'pod' } };
    const answer = await cluster.ask('POST', `${collectionOf(pod, namespace.name)}?dryRun=All`, pod);
    const refused = findRestrictedProblems(PodTemplateSchema.parse(judged)).length > 0;
    const isLaxer = spec === HOST_OF_PROBE && (await minorRelease(cluster)) < REFUSES_HOSTS_OF_PROBES;
    expect([answer.status, answer.status === 201 ? '' : answer.body.message, refused]).toEqual(
      refused && !isLaxer
        ? [403, expect.stringContaining('violates PodSecurity "restricted'), true]
        : [201, '', spec === HOST_OF_PROBE],
    );
  });

  it.each(pairs.map(({ name, children }) => [name, children] as const))(
    'render objects with fields that the API server knows: %s',
    async (_name, children) => {
      for (const child of children) {
        const { status, body } = await WAYS.apply!(cluster, moved(child, namespace.name), namespace.name);
        expect([child.kind, status < 300 ? 'taken' : body.message]).toEqual([child.kind, 'taken']);
      }
    },
  );

  it.each(pairs.filter(({ free }) => !free).map(({ name, children }) => [name, children] as const))(
    'render pods that meet the Restricted pod security standard: %s',
    async (_name, children) => {
      for (const template of children.flatMap((child) => templateOf(child) ?? [])) {
        const pod = { apiVersion: 'v1', kind: 'Pod', ...template, metadata: { ...template.metadata, name: 'pod' } };
        const answer = await cluster.ask('POST', `${collectionOf(pod, namespace.name)}?dryRun=All`, pod);
        expect([answer.status, answer.status < 300 ? '' : answer.body.message]).toEqual([201, '']);
      }
    },
  );
});
