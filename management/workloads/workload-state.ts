import { transportOf } from '#crds/kinds/index';
import type { BackendSummary, Status } from '#crds/kinds/status';
import type { WorkloadStatus } from '../records/workload.ts';
import type { StoredResource } from '../stores/resources.ts';
import type { Seen } from './runtime.ts';
import { isRestarting } from './stop-and-start.ts';

export interface WorkloadState {
  status: WorkloadStatus;
  /** Explanation and remedy; empty when there is nothing to report. */
  context: string;
}

export interface Sightings {
  seen: Seen | undefined;
  backends: readonly BackendSummary[];
}

const state = (status: WorkloadStatus, context = ''): WorkloadState => ({ status, context });

const conditionOf = ({ conditions }: Status, type: string) =>
  conditions.find((condition) => condition.type === type && condition.status === 'True');

/** The best of several servers counts, because the workload is reachable there. */
const SEEN: Record<BackendSummary['phase'], WorkloadStatus> = {
  Ready: 'running',
  Degraded: 'unhealthy',
  Unavailable: 'unhealthy',
  Unknown: 'starting',
  Excluded: 'error',
  Suspended: 'stopped',
};
const BEST: readonly WorkloadStatus[] = ['running', 'unauthenticated', 'unhealthy', 'starting', 'error', 'stopped'];

/** `mayStart` means that its program runs here; it counts as starting until its tools are listed. */
function stateSeen({ name, phase, message, loginUrl, tools }: BackendSummary, mayStart: boolean): WorkloadState {
  if (phase === 'Ready') return state('running');
  if (phase === 'Unavailable' && mayStart && tools === undefined && loginUrl === undefined)
    return state('starting', message);
  if (loginUrl === undefined) return state(SEEN[phase], message);
  // In a cluster, the login page is the endpoint's page for administrators.
  const way = loginUrl.endsWith('/connections') ? 'as an administrator' : `vmcp login ${name}, or`;
  return state('unauthenticated', `A person has to log in there once: ${way} open ${loginUrl}`);
}

function seenState(backends: readonly BackendSummary[], mayStart: boolean): WorkloadState | undefined {
  const seen = backends.map((backend) => stateSeen(backend, mayStart));
  return seen.sort((a, b) => BEST.indexOf(a.status) - BEST.indexOf(b.status))[0];
}

const NOT_LOOKED_AT = 'It has not been looked at yet: wait, or see that the operator runs and watches its namespace.';

/** Prefers requested changes to obstacles to them, then observations. */
export function workloadState(resource: StoredResource, sightings: Sightings): WorkloadState {
  const { spec, status, isBeingDeleted } = resource;
  const { seen, backends } = sightings;
  if (isBeingDeleted) return state('removing', 'It is being deleted.');
  if (spec.suspend === true)
    return seen?.isRunning === true ? state('stopping', 'It is being stopped.') : state('stopped');
  if (!status) return seen === undefined ? state('unknown', 'Nothing runs here.') : state('starting', NOT_LOOKED_AT);
  if (isRestarting(resource) && !conditionOf(status, 'Stalled')) return restarting(status);
  const isRemote = spec.remoteUrl !== undefined;
  const reported = { backends, isRemote, isStdio: !isRemote && transportOf(spec) === 'stdio' };
  return reportedState(status, seen, reported);
}

interface Reported {
  backends: readonly BackendSummary[];
  /** The program runs elsewhere and is not started here. */
  isRemote: boolean;
  /** A server has to run the program, which has no pod of its own. */
  isStdio: boolean;
}

const NOBODY_RUNS_IT =
  'No server runs it, or none has said so yet: put it into the group of a VirtualMCPServer, or give it an endpoint of its own (proxy_port).';

function reportedState(status: Status, seen: Seen | undefined, reported: Reported): WorkloadState {
  const { backends, isRemote, isStdio } = reported;
  const ready = status.conditions.find(({ type }) => type === 'Ready')?.message;
  const hindered = hindrance(status, seen?.crashed, ready);
  if (hindered) return hindered;
  const mayStart = seen?.isRunning === true && !isRemote;
  const known = seenState([...backends, ...(status.backends ?? [])], mayStart);
  if (known) return known;
  return isStdio && seen?.isRunning === false ? state('unknown', NOBODY_RUNS_IT) : phaseState(status, ready);
}

/** Former observations describe the old processes, except obstacles to the restart. */
function restarting({ conditions }: Status): WorkloadState {
  const said = conditions.find(({ type, status }) => type === 'Ready' && status !== 'True')?.message;
  return state('starting', ['It is being started anew.', said].filter((text) => text !== undefined).join(' '));
}

function hindrance(status: Status, crashed: string | undefined, ready: string | undefined): WorkloadState | undefined {
  const stalled = conditionOf(status, 'Stalled');
  if (stalled) return state('error', stalled.message);
  if (crashed !== undefined) return state('error', `The program ${crashed}; see its log.`);
  const waiting = conditionOf(status, 'Waiting');
  if (waiting) return state('starting', waiting.message);
  if (status.phase === 'Failed') return state('error', ready);
  if (status.phase === 'Pending') return state('starting', ready);
  const provider = conditionOf(status, 'ProviderOutOfService');
  return provider && state('unhealthy', provider.message);
}

const phaseState = ({ phase }: Status, message = ''): WorkloadState =>
  phase === 'Degraded' ? state('unhealthy', message) : state('running');

/** The list returns workloads with these statuses without `all`. */
export const RUNNING: ReadonlySet<WorkloadStatus> = new Set(['running', 'unhealthy', 'unauthenticated']);

export function tellNotYet(
  name: string,
  awaited: string,
  { status, context }: { status: WorkloadState['status'] | 'gone'; context: string },
): string {
  return `${name} is not ${awaited} but ${status}${context === '' ? '' : `: ${context}`}`;
}
