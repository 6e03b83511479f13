import { describe, expect, it } from '@jest/globals';
import type { BackendSummary } from '#crds/kinds/status';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { ClusterFacts, Manifest, ObservedDeployment, ObservedRuntime } from '#operator/snapshot';
import { plan } from './plan.ts';
import { unlistedFinding } from './summarise-backends.ts';

const START = '2026-01-02T03:00:00Z';
const at = (seconds: number) => new Date(Date.parse(START) + seconds * 1000).toISOString();
const server = (status?: object): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'VirtualMCPServer',
  metadata: { name: 'demo', namespace: 'default', uid: 'u', generation: 3 },
  spec: { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } },
  status,
});
const one = (phase: BackendSummary['phase'], more: Partial<BackendSummary> = {}): BackendSummary => ({
  ...{ name: 'a', phase, message: '', lastTransitionTime: START },
  ...more,
});
const pods = (more: Partial<ObservedDeployment> = {}): Record<string, ObservedDeployment> => ({
  'mcp-a': { replicas: 1, readyReplicas: 0, complete: false, ...more },
});

describe('unlistedFinding', () => {
  it.each<[string, BackendSummary, Record<string, ObservedDeployment>, number]>([
    ['a backend that has not been asked', one('Unknown'), {}, 10],
    ['a backend that does not answer', one('Unavailable'), {}, 10],
    ['a backend that answers and has not been listed', one('Ready'), pods({ complete: true }), 10],
    ['a backend whose pods are on their way', one('Unavailable'), pods(), 60],
    ['a backend whose pods fail', one('Unavailable'), pods({ podProblem: { reason: 'PodsFail', message: '' } }), 10],
  ])('waits for %s until its deadline', (_what, backend, deployments, deadline) => {
    const found = (seconds: number) => unlistedFinding([backend], deployments, server(), at(seconds));
    expect(found(deadline - 1)).toMatchObject({ type: 'Ready', status: 'False', reason: 'BackendsNotListed' });
    expect(found(deadline)).toBeUndefined();
  });

  it.each([
    ['a backend that has been listed', one('Ready', { tools: 0 })],
    ['a backend that is left out', one('Excluded')],
    ['a backend that is stopped', one('Suspended')],
    ['a backend that waits for a login', one('Degraded', { loginUrl: 'https://a.example' })],
    ['a backend that only a caller can list', one('Ready', { authType: 'tokenExchange' })],
  ])('does not wait for %s', (_what, backend) => {
    expect(unlistedFinding([backend], pods(), server(), at(0))).toBeUndefined();
  });

  it('does not revoke Ready of a server that has served before', () => {
    expect(unlistedFinding([one('Unknown')], {}, server({ observedGeneration: 3 }), at(0))).toBeUndefined();
  });
});

describe('status of a server in a cluster', () => {
  const cluster: ClusterFacts = { mode: 'cluster', runtimeImage: 'runtime:1', allowHostPaths: false };
  const key = { kind: 'VirtualMCPServer', namespace: 'default', name: 'demo' } as const;
  const backend: Manifest = {
    ...{ apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServer' },
    ...{ metadata: { name: 'a', namespace: 'default' }, spec: { groupRef: 'tools', image: 'a:1' } },
  };
  const group: Manifest = { ...backend, kind: 'MCPGroup', metadata: { name: 'tools', namespace: 'default' }, spec: {} };
  const serving: ObservedDeployment = { replicas: 1, readyReplicas: 1, complete: true };

  /** Returns the planned status for one observation of a backend. `former`: the status before. */
  const planned = (seen: ObservedRuntime['backends'][number], seconds: number, former?: object) => {
    const observed = { current: true, ready: true, tools: seen.tools, backends: [seen], warnings: [] } as unknown;
    const snapshot = emptySnapshot({
      platform: cluster,
      virtualMcpServers: { demo: server(former) },
      mcpServers: { a: backend },
      mcpGroups: { tools: group },
      generated: { demo: { sealing: 'a'.repeat(16), statusToken: 'b'.repeat(16) } },
      deployments: { 'vmcp-demo': serving, ...pods() },
      observed: { demo: observed as ObservedRuntime },
    });
    const { rendered } = plan(key, snapshot, at(0));
    const outcome = plan(key, { ...snapshot, documents: { demo: rendered?.text ?? '' } }, at(seconds));
    const conditions = Object.fromEntries((outcome.status?.conditions ?? []).map((each) => [each.type, each]));
    return { ...outcome, conditions };
  };
  const known = { name: 'a', tools: null, message: 'refused: wait', login_url: null } as const;
  const away = { ...known, extensions: ['apps'], phase: 'unavailable' as const };

  it('becomes Ready with the first list of each member, like AllBackendsReady', () => {
    const before = planned(away, 0);
    expect(before.conditions.Ready).toMatchObject({ status: 'False', reason: 'BackendsNotListed' });
    expect(before.conditions.AllBackendsReady).toMatchObject({ status: 'False', reason: 'SomeBackendsNotReady' });
    expect(before.status?.observedGeneration).toBeUndefined();
    expect(before.requeueAfter).toBeGreaterThan(0);
    const after = planned({ ...away, phase: 'ready', tools: 3 }, 5, before.status);
    expect(after.conditions.Ready).toMatchObject({ status: 'True' });
    expect(after.conditions.AllBackendsReady).toMatchObject({ status: 'True' });
    expect(after.status?.backends).toMatchObject([{ name: 'a', extensions: ['apps'] }]);
    expect([after.status?.observedGeneration, after.requeueAfter]).toEqual([3, undefined]);
  });

  it('becomes Ready without a member whose first list missed its deadline', () => {
    const before = planned(away, 0);
    expect(planned(away, 59, before.status).conditions.Ready).toMatchObject({ status: 'False' });
    const after = planned(away, 61, before.status);
    expect(after.conditions.Ready).toMatchObject({ status: 'True', reason: 'SomeBackendsNotReady' });
    expect(after.conditions.AllBackendsReady).toMatchObject({ status: 'False', reason: 'SomeBackendsNotReady' });
    expect(after.status?.phase).toBe('Degraded');
  });
});
