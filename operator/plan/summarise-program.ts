import { transportOf } from '#crds/kinds/index';
import type { Status } from '#crds/kinds/status';
import type { Manifest, Snapshot } from '../snapshot.ts';
import { backendChild } from './child-names.ts';
import { defined } from './defined.ts';
import type { BackendSpec } from './find-group-members.ts';
import type { Finding } from './finding.ts';
import { datedConditions, notYetServed } from './summarise-status.ts';
import { programFinding, rolloutFindings, type Workload } from './summarise-workload.ts';

interface ProgramFindings {
  url: string;
  warnings: Finding[];
}

const SUSPENDED: Finding = {
  type: 'Ready',
  status: 'False',
  reason: 'Suspended',
  message: 'It is stopped: write suspend: false to start it.',
};

/** A remote server or a process of this machine: only its callers know its state. */
const RENDERED: Finding = {
  type: 'Ready',
  status: 'True',
  reason: 'Rendered',
  message: 'A VirtualMCPServer says in its status whether it answers.',
};

function workloadOf(manifest: Manifest, spec: BackendSpec, snapshot: Snapshot): Workload | undefined {
  if (snapshot.platform.mode !== 'cluster' || spec.remoteUrl !== undefined) return undefined;
  const child = backendChild(manifest.metadata.name);
  return { child, observed: snapshot.deployments?.[child] };
}

function readyFindings(manifest: Manifest, spec: BackendSpec, workload: Workload | undefined): Finding[] {
  if (spec.suspend) return [SUSPENDED];
  return workload ? [programFinding(workload, manifest), ...rolloutFindings(workload)] : [RENDERED];
}

function phaseOf(findings: Finding[]): Status['phase'] {
  const [ready] = findings;
  if (ready?.reason === 'PodsFail') return 'Failed';
  if (ready?.status !== 'True') return 'Pending';
  return findings.some(({ reason }) => reason === 'RolloutHangs') ? 'Degraded' : 'Ready';
}

export function summariseProgram(
  manifest: Manifest,
  spec: BackendSpec,
  { url, warnings }: ProgramFindings,
  snapshot: Snapshot,
  now: string,
): Status {
  const workload = workloadOf(manifest, spec, snapshot);
  const findings = readyFindings(manifest, spec, workload);
  const status = defined({
    phase: phaseOf(findings),
    observedGeneration: manifest.metadata.generation,
    url,
    transport: transportOf(spec),
    replicas: workload?.observed?.replicas,
    conditions: datedConditions([...findings, ...warnings], manifest, now),
  });
  return spec.suspend || !workload || workload.observed?.complete === true ? status : notYetServed(status, manifest);
}
