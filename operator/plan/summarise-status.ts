import type { BackendSummary, Status } from '#crds/kinds/status';
import { Condition } from '#crds/parts/conditions';
import { Stalled, Waiting } from '../errors.ts';
import type { Manifest, ObservedDeployment, ObservedRuntime, ResourceKey } from '../snapshot.ts';
import { defined } from './defined.ts';
import type { BackendFinding, Finding } from './finding.ts';
import type { Outcome } from './outcome.ts';
import {
  allReadyFinding,
  backendFinding,
  bounded,
  isWell,
  loginFindings,
  previousStatus,
  summariseBackends,
  unlistedFinding,
} from './summarise-backends.ts';
import { podsReason, remedyFor, rolloutFindings, servedBefore, type Workload } from './summarise-workload.ts';

export interface ServerFindings {
  url: string;
  redirectUris: Record<string, string> | undefined;
  backends: BackendFinding[];
  warnings: Finding[];
}

/** Backends that a status lists. `backendCount` counts all. */
const LISTED = 1000;

/** Warnings of a runtime that a condition repeats. Its log has all. */
const RUNTIME_WARNINGS = 20;

/** Adds to each condition the time since when it has its status. An unchanged status keeps its time. */
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

/** Returns the status of a generation that is not served yet. `Stalled` is final. `kubectl wait` compares the condition's generation. */
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

function unansweredFinding({ workload, failure }: ServerObserved): Finding {
  const [type, status] = ['Ready', 'False'] as const;
  if (failure !== undefined) {
    const message = `The runtime does not start and is tried again: ${failure}`;
    return { type, status, reason: 'RuntimeFails', message };
  }
  const reason = workload && podsReason(workload);
  if (workload && reason !== undefined) return { type, status, reason, message: remedyFor(workload) };
  if (workload?.observed?.wanted === 0) {
    return { type, status, reason: 'ScaledToZero', message: 'It is stopped: write replicas 1 or more to serve it.' };
  }
  return { type, status, reason: 'RuntimeNotReady', message: 'The runtime does not answer yet: wait, or see its log.' };
}

interface ReadyParts {
  progress: Finding[];
  allReady: Finding;
  unlisted: Finding | undefined;
}

function readyFinding(
  seen: ServerObserved,
  { progress: [missing], allReady, unlisted }: ReadyParts,
  manifest: Manifest,
): Finding {
  const type = 'Ready';
  const { runtime: observed, workload } = seen;
  if (!observed) return unansweredFinding(seen);
  if (!observed.ready) {
    const message = 'The runtime says that it is not ready: see its log.';
    return { type, status: 'False', reason: 'RuntimeNotReady', message };
  }
  // A few first pods are not enough. A former template still serves during a roll-out.
  if (workload && missing && !servedBefore(manifest)) {
    return { type, status: 'False', reason: 'PodsNotReady', message: missing.message };
  }
  return unlisted ?? { ...allReady, type, status: 'True' };
}

const isDegrading = ({ type, reason }: Finding) => reason === 'RolloutHangs' || type === 'ProviderOutOfService';

function phaseOf(ready: Finding, others: Finding[], backends: BackendSummary[]): Status['phase'] {
  if (ready.status === 'False') return ready.reason === 'PodsFail' ? 'Failed' : 'Pending';
  return backends.every(isWell) && !others.some(isDegrading) && !isStalled(others) ? 'Ready' : 'Degraded';
}

function runtimeFindings(observed: ObservedRuntime | undefined, planned: readonly Finding[]): Finding[] {
  const unplanned = (observed?.warnings ?? []).filter((text) => !planned.some(({ message }) => message.includes(text)));
  const said = unplanned.slice(0, RUNTIME_WARNINGS);
  if (said.length === 0) return [];
  return [{ type: 'RuntimeWarning', status: 'True', reason: 'RuntimeReported', message: said.join('; ') }];
}

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

export interface ServerObserved {
  runtime: ObservedRuntime | undefined;
  delivered: boolean;
  failure?: string;
  workload?: Workload & { selector: string };
  deployments?: Readonly<Record<string, ObservedDeployment>>;
}

/** Returns at most one condition of a type. Pods that are still starting are no finding, unless others reject the document. */
function progressFindings({ runtime, delivered, workload }: ServerObserved): Finding[] {
  const delivery = deliveryFindings(runtime, delivered);
  const rollout = workload ? rolloutFindings(workload) : [];
  return rollout.length === 0 || isStalled(delivery) ? delivery : rollout;
}

export function summariseServer(
  findings: ServerFindings,
  manifest: Manifest,
  seen: ServerObserved,
  now: string,
): Status {
  const { runtime: observed, delivered, workload } = seen;
  const backends = summariseBackends(findings.backends, observed, manifest, now);
  const delivery = progressFindings(seen);
  const allReady = allReadyFinding(backends, observed);
  const unlisted = seen.deployments && unlistedFinding(backends, seen.deployments, manifest, now);
  const ready = readyFinding(seen, { progress: delivery, allReady, unlisted }, manifest);
  const resolved = backendFinding(findings.backends);
  const all = [
    ready,
    allReady,
    resolved,
    ...delivery,
    ...loginFindings(backends),
    ...findings.warnings,
    ...findOldSecrets(observed),
    ...runtimeFindings(observed, findings.warnings),
  ];
  const status = defined({
    phase: phaseOf(ready, [...delivery, ...findings.warnings], backends),
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
  return delivered && ready !== unlisted ? status : notYetServed(status, manifest);
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

/** Returns the status of a failed plan: earlier facts stay. With `serving`, a former configuration runs, so its warnings stay too. */
export function summariseProblem(problem: unknown, manifest: Manifest, serving: boolean, now: string): Status {
  const former = previousStatus(manifest);
  const found = problemFindings(problem);
  const conditions = datedConditions(found, manifest, now);
  const { generation } = manifest.metadata;
  return {
    ...former,
    // Waiting does not change the outcome of this generation.
    ...(problem instanceof Stalled && generation !== undefined ? { observedGeneration: generation } : {}),
    phase: serving ? 'Degraded' : phaseUnserved(problem),
    conditions: serving ? [...conditions, ...warningsOf(former.conditions ?? [])] : conditions,
  };
}

function warningsOf(conditions: Condition[]): Condition[] {
  return conditions.filter(({ type }) => !['Ready', 'Stalled', 'Waiting'].includes(type));
}

export function withProblem(outcome: Outcome, problem: unknown, manifest: Manifest | undefined, now: string): Outcome {
  if (!outcome.status || !manifest) return outcome;
  const findings = datedConditions(problemFindings(problem), manifest, now);
  const replaced = new Set(findings.map((finding) => finding.type));
  const kept = outcome.status.conditions.filter((condition) => !replaced.has(condition.type));
  const { phase: planned } = outcome.status;
  const phase = planned === 'Pending' ? phaseUnserved(problem) : planned === 'Failed' ? planned : 'Degraded';
  // The requested restart may not have happened.
  const { restartedAt } = previousStatus(manifest);
  return { ...outcome, status: defined({ ...outcome.status, phase, restartedAt, conditions: [...findings, ...kept] }) };
}

/** Reports data that needs older `hmacSecretRefs`, so that the administrator sees whether a rotation is complete. */
function findOldSecrets(observed: ObservedRuntime | undefined): Finding[] {
  const { secrets, secrets_in_use: used } = observed?.auth_server ?? {};
  if (!secrets || !used || secrets.kids.length < 2) return [];
  const old = secrets.kids
    .map((kid, index) => ({ place: `hmacSecretRefs[${index}]`, rows: used[kid] ?? 0, kid }))
    .slice(1);
  const needed = old.filter(({ kid, rows }) => rows > 0 || kid === secrets.making);
  const free = old.filter((one) => !needed.includes(one)).map(({ place }) => place);
  const parts = [
    ...needed.map(({ place, rows }) => `${place} is needed by ${rows} logins and links: leave it`),
    ...(free.length > 0 ? [`no login or link needs ${free.join(', ')}: it may be removed`] : []),
  ];
  const reason = needed.length > 0 ? 'StillNeeded' : 'NotNeeded';
  return [{ type: 'OldSecrets', status: 'True', reason, message: `${parts.join('; ')}.` }];
}

interface Known {
  /** The runtime still serves a former configuration. */
  serving: boolean;
  status?: Partial<Status>;
}

/** Returns the outcome of a failed plan: running objects stay, no new ones start. @throws any error other than `Stalled` and `Waiting` */
export function keepOutcome(
  key: ResourceKey,
  problem: unknown,
  manifest: Manifest,
  known: Known,
  now: string,
): Outcome {
  if (!(problem instanceof Stalled || problem instanceof Waiting)) throw problem;
  const status = { ...summariseProblem(problem, manifest, known.serving, now), ...known.status };
  const again = problem instanceof Waiting ? { requeueAfter: problem.retryIn } : {};
  return { key, action: 'keep', children: [], status, ...again };
}
