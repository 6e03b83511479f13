import { expect, it } from '@jest/globals';
import type { Condition } from '#crds/parts/conditions';
import { Stalled, Waiting } from '../errors.ts';
import type { Manifest } from '../snapshot.ts';
import type { Outcome } from './outcome.ts';
import { withProblem } from './summarise-status.ts';

const NOW = '2026-01-02T00:00:00Z';
const SINCE = '2026-01-01T00:00:00Z';
const condition = (type: string): Condition => ({
  ...{ type, status: 'True', reason: 'Planned', message: 'm', lastTransitionTime: SINCE },
});
const conditions = [condition('Ready'), condition('EgressNotEnforced')];
const manifest: Manifest = {
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { name: 'plain', namespace: 'ns', uid: 'u', generation: 3 },
  spec: {},
  status: { phase: 'Ready', conditions },
};
const outcome: Outcome = {
  key: { kind: 'MCPServer', namespace: 'ns', name: 'plain' },
  action: 'apply',
  children: [],
  status: { phase: 'Ready', conditions },
};

it.each([
  [new Stalled('ChildNotOurs', 'remove it'), ['Ready False', 'Stalled True', 'EgressNotEnforced True']],
  [new Waiting('ChildForbidden', 'wait'), ['Ready False', 'Waiting True', 'EgressNotEnforced True']],
])('withProblem reports a failed application with one condition of each type: %s', (problem, expected) => {
  const { status } = withProblem(outcome, problem, manifest, NOW);
  expect(status?.phase).toBe('Degraded');
  expect(status?.conditions.map(({ type, status: is }) => `${type} ${is}`)).toEqual(expected);
  const [ready] = status?.conditions ?? [];
  expect(ready).toMatchObject({ reason: problem.reason, message: problem.message, lastTransitionTime: NOW });
});

it.each([
  [new Stalled('ChildNotOurs', 'remove it'), 'Failed'],
  [new Waiting('ChildForbidden', 'wait'), 'Pending'],
])('status of a new server with an obstacle: %s', (problem, phase) => {
  const pending: Outcome = { ...outcome, status: { phase: 'Pending', conditions } };
  expect(withProblem(pending, problem, manifest, NOW).status?.phase).toBe(phase);
});
