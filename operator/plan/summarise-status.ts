import { BackendSummary, type BackendPhase, type Status } from '#crds/kinds/status';
import { Condition } from '#crds/parts/conditions';
import { Stalled, Waiting } from '../errors.ts';
import type { Manifest, ObservedRuntime } from '../world.ts';
import { defined } from './defined.ts';
import { findOldSecrets } from './find-old-secrets.ts';
import type { Outcome } from './outcome.ts';
import { podsReason, remedyFor, rolloutFindings, servedBefore, type Workload } from './summarise-workload.ts';

/** A condition before it is known since when it holds. */
export type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** A backend as the plan sees it: in the document, left out with a reason, or stopped by its own resource. */
export type BackendFinding =
  | { name: string; url: string; authType: string }
  | { name: string; excluded: { reason: string; message: string } }
  | { name: string; suspended: true };

/** What a status says besides what holds for every kind. */
export interface ServerFindings {
  url: string;
  redirectUris: Record<string, string> | undefined;
  backends: BackendFinding[];
  warnings: Finding[];
}

/** Backends that a condition names one by one; a condition has a longest message. */
const NAMED = 20;
/** Backends that a status lists; `backendCount` counts all. */
const LISTED = 1000;

/** Warnings of a runtime that a condition repeats; its log has all. */
const RUNTIME_WARNINGS = 20;

const PHASES: Record<ObservedRuntime['backends'][number]['phase'], BackendPhase> = {
  ready: 'Ready',
  degraded: 'Degraded',
  unavailable: 'Unavailable',
  unknown: 'Unknown',
};

/** As much of a text as stands in a status: a longer one would be refused whole. */
function bounded(text: string, { maxLength }: { maxLength: number | null }): string {
  if (maxLength === null || text.length <= maxLength) return text;
  return `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}

function previousStatus(manifest: Manifest): Partial<Status> {
  return manifest.status ?? {};
}

/** Conditions with the time since when each has its status: the former one's where that did not change. */
export function datedConditions(findings: Finding[], manifest: Manifest, now: string): Condition[] {
  const former = previousStatus(manifest).conditions ?? [];
  const generation = manifest.metadata.generation;
  return findings.map((finding) => {
    const same = former.find((condition) => condition.type === finding.type && condition.status === finding.status);
    return {
      ...finding,
      message: bounded(finding.message, Condition.shape.message),
      lastTransitionTime: same?.lastTransitionTime ?? now,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  });
}

const isStalled = (findings: Pick<Finding, 'type'>[]) => findings.some(({ type }) => type === 'Stalled');

/**
 * A status whose generation is not served yet. Who waits for it waits until it is served, or until it is clear that it cannot
 * be (`Stalled`: it stays as it is); `kubectl wait` asks the condition of which generation it is.
 */
export function notYetServed(status: Status, manifest: Manifest): Status {
  if (isStalled(status.conditions)) return status;
  const { observedGeneration } = previousStatus(manifest);
  const conditions = status.conditions.map((condition) =>
    condition.type === 'Ready' && condition.status === 'True'
      ? defined({ ...condition, observedGeneration })
      : condition,
  );
  return defined({ ...status, observedGeneration, conditions });
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
  return { name, url, authType, phase: PHASES[seen.phase], ...tools, message: seen.message, ...login };
}

/** The list of backends as users see it: configured, left out, and what the runtime found. */
function summariseBackends(
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

const isWell = ({ phase }: BackendSummary) => phase === 'Ready' || phase === 'Suspended';

/** Why no pod answers. */
function unansweredFinding(workload: Workload | undefined): Finding {
  const [type, status] = ['Ready', 'False'] as const;
  const reason = workload && podsReason(workload);
  if (workload && reason !== undefined) return { type, status, reason, message: remedyFor(workload) };
  if (workload?.observed?.wanted === 0) {
    return { type, status, reason: 'ScaledToZero', message: 'It is stopped: write replicas 1 or more to serve it.' };
  }
  return { type, status, reason: 'RuntimeNotReady', message: 'The runtime does not answer yet: wait, or see its log.' };
}

/** `progress`: what stands between the runtime and this configuration. */
function readyFinding(
  backends: BackendSummary[],
  { runtime: observed, workload }: ServerObserved,
  [missing]: Finding[],
  manifest: Manifest,
): Finding {
  const type = 'Ready';
  if (!observed) return unansweredFinding(workload);
  if (!observed.ready) {
    const message = 'The runtime says that it is not ready: see its log.';
    return { type, status: 'False', reason: 'RuntimeNotReady', message };
  }
  // Some of the first pods are not all of them; a former shape goes on being served while another comes.
  if (workload && missing && !servedBefore(manifest)) {
    return { type, status: 'False', reason: 'PodsNotReady', message: missing.message };
  }
  const bad = backends.filter((backend) => !isWell(backend)).map((backend) => `${backend.name} (${backend.phase})`);
  if (bad.length === 0) return { type, status: 'True', reason: 'AllBackendsReady', message: 'Every backend answers.' };
  const message = `Served, but not every backend is: ${bad.join(', ')}. See status.backends for what to do.`;
  return { type, status: 'True', reason: 'SomeBackendsNotReady', message };
}

/** What is planned: what comes of it, a runtime sees. */
const RESOLVED = 'No backend is left out because of a fault. Ready says whether each answers.';

function backendFinding(backends: BackendFinding[]): Finding {
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

/** Logins at remote servers that a person has to do: where. */
function loginFindings(backends: BackendSummary[]): Finding[] {
  const missing = backends.filter(({ loginUrl }) => loginUrl !== undefined);
  if (missing.length === 0) return [];
  const list = missing.slice(0, NAMED).map(({ name, loginUrl }) => `${name}: open ${loginUrl ?? ''}`);
  const more = missing.length > NAMED ? [`and ${missing.length - NAMED} more, see status.backends`] : [];
  const message = `A person has to log in once, for everybody who may call: ${[...list, ...more].join('; ')}`;
  return [{ type: 'LoginNeeded', status: 'True', reason: 'RemoteLoginMissing', message }];
}

function phaseOf(ready: Finding, delivery: Finding[], backends: BackendSummary[]): Status['phase'] {
  if (ready.status === 'False') return ready.reason === 'PodsFail' ? 'Failed' : 'Pending';
  const hangs = delivery.some(({ reason }) => reason === 'RolloutHangs');
  return backends.every(isWell) && !hangs && !isStalled(delivery) ? 'Ready' : 'Degraded';
}

function runtimeFindings(observed: ObservedRuntime | undefined): Finding[] {
  const said = (observed?.warnings ?? []).slice(0, RUNTIME_WARNINGS);
  if (said.length === 0) return [];
  return [{ type: 'RuntimeWarning', status: 'True', reason: 'RuntimeReported', message: said.join('; ') }];
}

/** What stands between the runtime and this configuration. */
function deliveryFindings(observed: ObservedRuntime | undefined, delivered: boolean): Finding[] {
  if (!observed || delivered) return [];
  const refused = observed.config_refused?.message;
  if (refused !== undefined) {
    const message = `The runtime refused this configuration and serves the former one: correct what it says: ${refused}`;
    return [{ type: 'Stalled', status: 'True', reason: 'ConfigurationRefused', message }];
  }
  const message = 'The runtime has not taken this configuration over yet: wait, or see its log.';
  return [{ type: 'Reconciling', status: 'True', reason: 'NewConfiguration', message }];
}

/** What a platform sees of the runtime of a server. */
export interface ServerObserved {
  runtime: ObservedRuntime | undefined;
  /** What the runtime serves is exactly this plan. */
  delivered: boolean;
  /** Its pods, in a cluster. */
  workload?: Workload & { selector: string };
}

/** One condition of a type: what pods that are on their way do not serve yet is no news, unless others refuse it. */
function progressFindings({ runtime, delivered, workload }: ServerObserved): Finding[] {
  const delivery = deliveryFindings(runtime, delivered);
  const rollout = workload ? rolloutFindings(workload) : [];
  return rollout.length === 0 || isStalled(delivery) ? delivery : rollout;
}

/** Status of a VirtualMCPServer whose plan came out. */
export function summariseServer(
  findings: ServerFindings,
  manifest: Manifest,
  seen: ServerObserved,
  now: string,
): Status {
  const { runtime: observed, delivered, workload } = seen;
  const backends = summariseBackends(findings.backends, observed, manifest, now);
  const delivery = progressFindings(seen);
  const ready = readyFinding(backends, seen, delivery, manifest);
  const resolved = backendFinding(findings.backends);
  const all = [
    ready,
    resolved,
    ...delivery,
    ...loginFindings(backends),
    ...findings.warnings,
    ...findOldSecrets(observed),
    ...runtimeFindings(observed),
  ];
  const status = defined({
    phase: phaseOf(ready, delivery, backends),
    observedGeneration: manifest.metadata.generation,
    url: findings.url,
    backends: backends.slice(0, LISTED),
    backendCount: backends.length,
    toolCount: observed?.tools ?? undefined,
    redirectUris: findings.redirectUris,
    replicas: workload && (workload.observed?.replicas ?? 0),
    selector: workload?.selector,
    conditions: datedConditions(all, manifest, now),
  });
  return delivered ? status : notYetServed(status, manifest);
}

const phaseUnserved = (problem: unknown): Status['phase'] => (problem instanceof Stalled ? 'Failed' : 'Pending');

function problemFindings(problem: unknown): Finding[] {
  const error = problem instanceof Stalled || problem instanceof Waiting ? problem : undefined;
  const reason = error?.reason ?? 'ApplyFailed';
  const message = error?.message ?? 'It could not be applied; it is tried again. The log of the operator says why.';
  const ready: Finding = { type: 'Ready', status: 'False', reason, message };
  if (problem instanceof Stalled) return [ready, { type: 'Stalled', status: 'True', reason, message }];
  if (problem instanceof Waiting) return [ready, { type: 'Waiting', status: 'True', reason, message }];
  return [ready];
}

/**
 * Status of a resource that cannot be brought about: what was known before stays, the conditions say what is wrong.
 * `serving`: a former configuration goes on being served, and with it go its warnings.
 */
export function summariseProblem(problem: unknown, manifest: Manifest, serving: boolean, now: string): Status {
  const former = previousStatus(manifest);
  const found = problemFindings(problem);
  const conditions = datedConditions(found, manifest, now);
  const { generation } = manifest.metadata;
  return {
    ...former,
    // Nothing more comes of this generation by waiting.
    ...(problem instanceof Stalled && generation !== undefined ? { observedGeneration: generation } : {}),
    phase: serving ? 'Degraded' : phaseUnserved(problem),
    conditions: serving ? [...conditions, ...warningsOf(former.conditions ?? [])] : conditions,
  };
}

/** What was warned of before: neither the state itself nor what stood in its way. */
function warningsOf(conditions: Condition[]): Condition[] {
  return conditions.filter(({ type }) => !['Ready', 'Stalled', 'Waiting'].includes(type));
}

/** The outcome whose application failed, with the failure in its status. */
export function withProblem(outcome: Outcome, problem: unknown, manifest: Manifest | undefined, now: string): Outcome {
  if (!outcome.status || !manifest) return outcome;
  const findings = datedConditions(problemFindings(problem), manifest, now);
  const replaced = new Set(findings.map((finding) => finding.type));
  const kept = outcome.status.conditions.filter((condition) => !replaced.has(condition.type));
  const { phase: planned } = outcome.status;
  const phase = planned === 'Pending' ? phaseUnserved(problem) : planned === 'Failed' ? planned : 'Degraded';
  // What was to be started anew may not have been.
  const { restartedAt } = previousStatus(manifest);
  return { ...outcome, status: defined({ ...outcome.status, phase, restartedAt, conditions: [...findings, ...kept] }) };
}
