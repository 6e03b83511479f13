import { BackendSummary, type BackendPhase, type Status } from '#crds/kinds/status';
import type { Manifest, ObservedDeployment, ObservedRuntime } from '../snapshot.ts';
import { backendChild } from './child-names.ts';
import type { AuthType, BackendFinding, Finding } from './finding.ts';
import { servedBefore } from './summarise-workload.ts';

/** Backends that a condition lists, because its message has a length limit. */
const NAMED = 20;
const PHASES: Record<ObservedRuntime['backends'][number]['phase'], BackendPhase> = {
  ready: 'Ready',
  degraded: 'Degraded',
  unavailable: 'Unavailable',
  unknown: 'Unknown',
};

/** Cuts a text to its limit in the status. The API server rejects a longer one. */
export function bounded(text: string, { maxLength }: { maxLength: number | null }): string {
  if (maxLength === null || text.length <= maxLength) return text;
  return `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}

export function previousStatus(manifest: Manifest): Partial<Status> {
  return manifest.status ?? {};
}

const SUSPENDED = 'It is stopped: write suspend: false in its MCPServer to start it.';

function summariseBackend(
  finding: BackendFinding,
  observed: ObservedRuntime | undefined,
): Omit<BackendSummary, 'lastTransitionTime'> {
  const { name } = finding;
  if ('suspended' in finding) return { name, phase: 'Suspended', message: SUSPENDED };
  if ('excluded' in finding) return { name, phase: 'Excluded', message: finding.excluded.message };
  const { url, authType } = finding;
  const seen = observed?.backends.find((backend) => backend.name === name);
  if (!seen) return { name, url, authType, phase: 'Unknown', message: 'The runtime has not reported on it yet.' };
  const tools = seen.tools === null ? {} : { tools: seen.tools };
  const login = seen.login_url === null ? {} : { loginUrl: seen.login_url };
  const extensions = seen.extensions === undefined ? {} : { extensions: seen.extensions };
  return { name, url, authType, phase: PHASES[seen.phase], ...tools, message: seen.message, ...extensions, ...login };
}

export function summariseBackends(
  findings: BackendFinding[],
  observed: ObservedRuntime | undefined,
  manifest: Manifest,
  now: string,
): BackendSummary[] {
  const former = previousStatus(manifest).backends ?? [];
  return findings.map((finding) => {
    const summary = summariseBackend(finding, observed);
    const same = former.find((backend) => backend.name === summary.name && backend.phase === summary.phase);
    const message = bounded(summary.message, BackendSummary.shape.message);
    return { ...summary, message, lastTransitionTime: same?.lastTransitionTime ?? now };
  });
}

export const isWell = ({ phase }: BackendSummary) => phase === 'Ready' || phase === 'Suspended';

export function loginFindings(backends: BackendSummary[]): Finding[] {
  const missing = backends.filter(({ loginUrl }) => loginUrl !== undefined);
  if (missing.length === 0) return [];
  const list = missing.slice(0, NAMED).map(({ name, loginUrl }) => `${name}: open ${loginUrl ?? ''}`);
  const more = missing.length > NAMED ? [`and ${missing.length - NAMED} more, see status.backends`] : [];
  const message = `A person has to log in once, for everybody who may call: ${[...list, ...more].join('; ')}`;
  return [{ type: 'LoginNeeded', status: 'True', reason: 'RemoteLoginMissing', message }];
}

/** BackendsResolved reports the plan. The runtime's results are in AllBackendsReady. */
const RESOLVED = 'No backend is left out because of a fault. Ready says whether each answers.';

export function backendFinding(backends: BackendFinding[]): Finding {
  const type = 'BackendsResolved';
  const excluded = backends.flatMap((one) => ('excluded' in one ? [{ name: one.name, ...one.excluded }] : []));
  const [first] = excluded;
  if (!first) return { type, status: 'True', reason: 'Resolved', message: RESOLVED };
  const reason = excluded.every((backend) => backend.reason === first.reason) ? first.reason : 'SeveralBackendsLeftOut';
  const list = excluded.slice(0, NAMED).map(({ name, message }) => `${name}: ${message}`);
  const more = excluded.length > NAMED ? [`and ${excluded.length - NAMED} more, see status.backends`] : [];
  const message = `Left out, and not contacted: ${[...list, ...more].join('; ')}`;
  return { type, status: 'False', reason, message };
}

/** Strategies with the caller's credentials: no list is possible before a user's call. */
const PER_USER: Readonly<Record<string, boolean>> = {
  awsSts: true,
  tokenExchange: true,
  upstreamInject: true,
  xaa: true,
  bearerToken: false,
  clientCredentials: false,
  embeddedAuthServer: false,
  headerInjection: false,
  remoteAuth: false,
  unauthenticated: false,
} satisfies Record<AuthType, boolean>;

export const isPerUser = (authType = ''): boolean => PER_USER[authType] === true;

/** Milliseconds for the first list of a backend, from the first observation of its phase. */
const FIRST_LIST = 10_000;
/** Milliseconds for the first list if the cluster has to start the backend's pods. */
const FIRST_PODS = 60_000;
/** Milliseconds between checks whether a deadline has passed. */
const LOOK_FOR_LISTS = 2000;
const UNLISTED = 'BackendsNotListed';

const isAway = ({ phase }: BackendSummary): boolean => phase === 'Unknown' || phase === 'Unavailable';

/** Returns whether the backend's list is known or cannot become known by waiting. */
const isListed = (backend: BackendSummary): boolean =>
  backend.phase === 'Excluded' ||
  backend.phase === 'Suspended' ||
  backend.tools !== undefined ||
  backend.loginUrl !== undefined ||
  (!isAway(backend) && isPerUser(backend.authType));

function deadlineOf(backend: BackendSummary, deployments: Readonly<Record<string, ObservedDeployment>>): number {
  const pods = deployments[backendChild(backend.name)];
  const mayCome = pods && pods.problem === undefined && pods.podProblem === undefined;
  return mayCome && isAway(backend) ? FIRST_PODS : FIRST_LIST;
}

export function unlistedFinding(
  backends: BackendSummary[],
  deployments: Readonly<Record<string, ObservedDeployment>>,
  manifest: Manifest,
  now: string,
): Finding | undefined {
  if (servedBefore(manifest)) return undefined;
  const awaited = backends.filter((backend) => {
    const since = Date.parse(now) - Date.parse(backend.lastTransitionTime);
    return !isListed(backend) && since < deadlineOf(backend, deployments);
  });
  if (awaited.length === 0) return undefined;
  const names = awaited.slice(0, NAMED).map(({ name, phase }) => `${name} (${phase})`);
  const message = `It is served, and these backends have not been listed yet: ${names.join(', ')}: wait; each has a deadline.`;
  return { type: 'Ready', status: 'False', reason: UNLISTED, message };
}

/** Returns when to plan a server again that waits for first lists. No event reports a missed deadline. */
export function lookForLists({ conditions }: Status): { requeueAfter?: number } {
  return conditions.some(({ reason }) => reason === UNLISTED) ? { requeueAfter: LOOK_FOR_LISTS } : {};
}

export function allReadyFinding(backends: BackendSummary[], observed: ObservedRuntime | undefined): Finding {
  const type = 'AllBackendsReady';
  if (!observed) {
    const message = 'Whether the backends answer is not known, as the runtime does not: see Ready.';
    return { type, status: 'False', reason: 'RuntimeNotReady', message };
  }
  const bad = backends.filter((backend) => !isWell(backend)).map((backend) => `${backend.name} (${backend.phase})`);
  if (bad.length === 0) return { type, status: 'True', reason: 'AllBackendsReady', message: 'Every backend answers.' };
  const message = `Served, but not every backend is: ${bad.join(', ')}. See status.backends for what to do.`;
  return { type, status: 'False', reason: 'SomeBackendsNotReady', message };
}
