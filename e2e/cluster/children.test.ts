import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { ClusterObject, Outcome } from '#operator/plan/outcome';
import type { World } from '#operator/world';
import { collectionOf, WAYS } from './send-manifests.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

// What the plan's golden pairs say of a cluster, asked of a real API server: nothing of it is kept.

const FOLDER = join(import.meta.dirname, '../../operator/plan/testdata');

type Child = ClusterObject['object'];

interface PodTemplate {
  metadata: object;
  spec: { serviceAccountName?: string };
}

/** Children of a golden pair, and whether the administrator let pods out to their node. */
interface Pair {
  name: string;
  children: Child[];
  free: boolean;
}

function readPair(name: string): Pair {
  const read = (side: string): unknown => parse(readFileSync(join(FOLDER, `${name}.${side}.yaml`), 'utf8'));
  const { children } = read('out') as Outcome;
  const { platform } = read('in') as Partial<World>;
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
        'Service',
        'ServiceAccount',
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
  }, 60_000);
  afterAll(() => namespace.delete());

  it.each(pairs.map(({ name, children }) => [name, children] as const))(
    '%s: the API server takes every object, and knows each of its fields',
    async (_name, children) => {
      for (const child of children) {
        const { status, body } = await WAYS.apply!(cluster, moved(child, namespace.name), namespace.name);
        expect([child.kind, status < 300 ? 'taken' : body.message]).toEqual([child.kind, 'taken']);
      }
    },
  );

  it.each(pairs.filter(({ free }) => !free).map(({ name, children }) => [name, children] as const))(
    '%s: the pods meet the Restricted pod security standard',
    async (_name, children) => {
      for (const template of children.flatMap((child) => templateOf(child) ?? [])) {
        const pod = { apiVersion: 'v1', kind: 'Pod', ...template, metadata: { ...template.metadata, name: 'pod' } };
        const answer = await cluster.ask('POST', `${collectionOf(pod, namespace.name)}?dryRun=All`, pod);
        expect([answer.status, answer.status < 300 ? '' : answer.body.message]).toEqual([201, '']);
      }
    },
  );
});
