import { describe, expect, it } from '@jest/globals';
import { observeDeployment, viewOfChild } from './observe-deployment.ts';

const DONE = { observedGeneration: 3, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
const deployment = (status: object, metadata: object = {}) =>
  viewOfChild({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'vmcp-demo', generation: 3, ...metadata },
    spec: { replicas: 2 },
    status,
  });
const managed = (manager: string) => ({
  managedFields: [{ manager, fieldsV1: { 'f:spec': { 'f:replicas': {} } } }],
});

describe('observeDeployment', () => {
  it('returns the restart request that its pods follow, for any API group', () => {
    const restarted = deployment(DONE);
    const annotations = {
      'kubectl.kubernetes.io/restartedAt': 'x',
      'mcp.example/restarted-at': '2026-01-01T00:00:00Z',
    };
    restarted.spec = { replicas: 2, template: { metadata: { annotations } } };
    expect(observeDeployment(restarted).restartedAt).toBe('2026-01-01T00:00:00Z');
  });

  it('reports completion when the controller has observed the generation and every pod is current', () => {
    expect(observeDeployment(deployment(DONE))).toEqual({
      replicas: 2,
      readyReplicas: 2,
      complete: true,
      wanted: 2,
      scaledByOther: false,
    });
    for (const less of [{ observedGeneration: 2 }, { replicas: 3 }, { updatedReplicas: 1 }, { availableReplicas: 1 }]) {
      expect(observeDeployment(deployment({ ...DONE, ...less })).complete).toBe(false);
    }
    expect(observeDeployment(deployment({})).complete).toBe(false);
  });

  it('explains why no pod can be created, or that the rollout takes too long', () => {
    const conditions = [
      { type: 'Progressing', status: 'False', message: 'exceeded its deadline' },
      { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' },
    ];
    expect(observeDeployment(deployment({ ...DONE, conditions })).problem).toBe('exceeded quota');
    expect(observeDeployment(deployment({ ...DONE, conditions: conditions.slice(0, 1) })).problem).toBe(
      'exceeded its deadline',
    );
  });

  it('detects another manager of the replicas field, and drops the managed fields', () => {
    expect(observeDeployment(deployment(DONE, managed('kube-controller-manager'))).scaledByOther).toBe(true);
    expect(observeDeployment(deployment(DONE, managed('vmcp-operator'))).scaledByOther).toBe(false);
    expect(deployment(DONE, managed('other')).metadata.managedFields).toBeUndefined();
  });
});
