import { describe, expect, it } from '@jest/globals';
import type { BackendSummary, Status } from '#crds/kinds/status';
import type { StoredResource } from '../stores/resources.ts';
import type { Seen } from './runtime.ts';
import { RUNNING, workloadState } from './workload-state.ts';

const at = '2026-01-01T00:00:00Z';
const condition = (type: string, status: 'True' | 'False', message: string) => ({
  type,
  status,
  message,
  reason: 'Some',
  lastTransitionTime: at,
});
const statusOf = (phase: Status['phase'], ...conditions: Status['conditions']): Status => ({ phase, conditions });
const backend = (phase: BackendSummary['phase'], message: string): BackendSummary => ({
  name: 'search',
  phase,
  message,
  lastTransitionTime: at,
});
const READY = statusOf('Ready', condition('Ready', 'True', 'Its pods are ready.'));
const runs: Seen = { isRunning: true };
const rests: Seen = { isRunning: false };

interface Case {
  name: string;
  spec?: Record<string, unknown>;
  status?: Status;
  seen?: Seen;
  backends?: BackendSummary[];
  isBeingDeleted?: boolean;
  annotations?: Record<string, string>;
  is: [string, string];
}

/** Returns a running program as the servers that offer it report it. */
const offered = (name: string, is: Case['is'], ...backends: BackendSummary[]): Case => ({
  ...{ name, is, backends },
  status: READY,
  seen: runs,
});

const CASES: Case[] = [
  { name: 'is being deleted', isBeingDeleted: true, seen: runs, is: ['removing', 'It is being deleted.'] },
  { name: 'is stopped and still runs', spec: { suspend: true }, seen: runs, is: ['stopping', 'It is being stopped.'] },
  { name: 'is stopped', spec: { suspend: true }, seen: rests, is: ['stopped', ''] },
  { name: 'is nowhere, as nothing runs', is: ['unknown', 'Nothing runs here.'] },
  {
    name: 'was not looked at yet',
    seen: rests,
    is: ['starting', 'It has not been looked at yet: wait, or see that the operator runs and watches its namespace.'],
  },
  {
    name: 'cannot be as it is written',
    status: statusOf('Failed', condition('Stalled', 'True', 'Write image.'), condition('Ready', 'False', 'No.')),
    seen: rests,
    backends: [backend('Ready', '')],
    is: ['error', 'Write image.'],
  },
  {
    name: 'crashes',
    status: READY,
    seen: { isRunning: false, crashed: 'exited with code 3' },
    is: ['error', 'The program exited with code 3; see its log.'],
  },
  {
    name: 'waits for something',
    status: statusOf(
      'Pending',
      condition('Waiting', 'True', 'There is no Secret a.'),
      condition('Ready', 'False', 'No.'),
    ),
    seen: rests,
    is: ['starting', 'There is no Secret a.'],
  },
  {
    name: 'fails',
    status: statusOf('Failed', condition('Ready', 'False', 'Its pods do not start.')),
    seen: runs,
    is: ['error', 'Its pods do not start.'],
  },
  {
    name: 'begins',
    status: statusOf('Pending', condition('Ready', 'False', 'Its pods are being made: wait.')),
    seen: rests,
    is: ['starting', 'Its pods are being made: wait.'],
  },
  {
    name: 'answers, and has an upstream provider out of service',
    status: statusOf('Degraded', condition('ProviderOutOfService', 'True', 'There is no Secret a.')),
    seen: runs,
    backends: [backend('Ready', 'It is well.')],
    is: ['unhealthy', 'There is no Secret a.'],
  },
  offered('answers', ['running', ''], backend('Ready', 'It is well.')),
  { name: 'is ready, and nobody offers it', status: READY, seen: runs, is: ['running', ''] },
  {
    name: 'is on stdio, and no server runs it',
    spec: { command: ['tool'] },
    status: READY,
    seen: rests,
    is: [
      'unknown',
      'No server runs it, or none has said so yet: put it into the group of a VirtualMCPServer, or give it an endpoint of its own (proxy_port).',
    ],
  },
  offered('does not answer any more', ['unhealthy', 'It refuses the connection.'], {
    ...backend('Unavailable', 'It refuses the connection.'),
    tools: 3,
  }),
  offered(
    'runs and has not answered yet',
    ['starting', 'It refuses the connection.'],
    backend('Unavailable', 'It refuses the connection.'),
  ),
  {
    name: 'has never answered, and no program of it runs',
    status: READY,
    seen: rests,
    backends: [backend('Unavailable', 'Its process exited with code 1.')],
    is: ['unhealthy', 'Its process exited with code 1.'],
  },
  {
    name: 'runs elsewhere and does not answer',
    spec: { remoteUrl: 'https://far.example/mcp' },
    status: READY,
    seen: runs,
    backends: [backend('Unavailable', 'It refuses the connection.')],
    is: ['unhealthy', 'It refuses the connection.'],
  },
  offered(
    'needs somebody to log in',
    ['unauthenticated', 'A person has to log in there once: vmcp login search, or open http://127.0.0.1:4484/login'],
    { ...backend('Unavailable', 'No token.'), loginUrl: 'http://127.0.0.1:4484/login' },
  ),
  offered(
    'is left out by every server',
    ['error', 'Its reference leads nowhere.'],
    backend('Excluded', 'Its reference leads nowhere.'),
  ),
  offered('answers one server and not the other', ['running', ''], backend('Unavailable', 'No.'), backend('Ready', '')),
  {
    name: 'has too few pods',
    status: statusOf('Degraded', condition('Ready', 'True', '1 of 3 pods are ready.')),
    seen: runs,
    is: ['unhealthy', '1 of 3 pods are ready.'],
  },
  {
    name: 'is to be started anew, and was not yet',
    annotations: { 'vmcp.dev/restarted-at': at },
    status: { ...READY, restartedAt: '2025-12-31T23:59:59Z' },
    seen: { isRunning: false, crashed: 'exited with code 3' },
    backends: [backend('Ready', '')],
    is: ['starting', 'It is being started anew.'],
  },
  {
    name: 'is being started anew, and something hinders it',
    annotations: { 'vmcp.dev/restarted-at': at },
    status: statusOf('Failed', condition('Ready', 'False', 'Its pods do not start.')),
    seen: rests,
    is: ['starting', 'It is being started anew. Its pods do not start.'],
  },
  {
    name: 'was started anew',
    annotations: { 'vmcp.dev/restarted-at': at },
    status: { ...READY, restartedAt: at },
    seen: runs,
    backends: [backend('Ready', '')],
    is: ['running', ''],
  },
];

describe('workloadState', () => {
  it.each(CASES)(
    'reports that $name',
    ({ spec = {}, status, seen, backends = [], isBeingDeleted, annotations = {}, is }) => {
      const resource: StoredResource = {
        kind: 'MCPServer',
        name: 'search',
        labels: {},
        annotations,
        version: '1',
        spec,
        status,
        isBeingDeleted,
      };
      const { status: told, context } = workloadState(resource, { seen, backends });
      expect([told, context]).toEqual(is);
    },
  );

  it('counts a workload as running when it serves, or waits only for a login', () => {
    expect([...RUNNING].sort()).toEqual(['running', 'unauthenticated', 'unhealthy']);
  });
});
