import { transportOf } from '#crds/kinds/index';
import { Stalled, Waiting } from '../errors.ts';
import type { ClusterFacts, Manifest, Snapshot } from '../snapshot.ts';
import type { BackendSpec } from './find-group-members.ts';
import { runtimeNameOf } from './object-parts.ts';
import type { ServerSpec } from './server-spec.ts';

// Only this file rejects settings that this release's runtime does not serve, after the full check. Deleting its lines lifts a refusal.

function attachProblem(spec: BackendSpec, { stdioAttach }: ClusterFacts): string | undefined {
  if (!stdioAttach) return 'this operator runs without --stdio-attach, so what the image starts is not known here';
  if (spec.serviceAccount !== undefined) return "serviceAccount would be the bridge's, too, which attaches to it";
  const profile = spec.permissionProfile;
  if (!profile || (profile.type === 'builtin' && profile.name === 'network')) return undefined;
  return 'permissionProfile would hold for its bridge, too, which attaches to it by the API server';
}

/** Verifies that the bridge can reach a stdio program in a cluster: by pipes to a command, or by attaching to an image. @throws Stalled */
export function checkStdioImage(name: string, spec: BackendSpec, cluster: ClusterFacts): void {
  const problem = spec.command ? undefined : attachProblem(spec, cluster);
  if (problem === undefined) return;
  const message = `MCPServer "${name}": ${problem}: write command (the image's entry point), with args`;
  throw new Stalled('CommandNeeded', message);
}

/** @throws Stalled for a backend that the runtime cannot serve as written */
export function checkBackendServed(name: string, spec: BackendSpec, { platform }: Snapshot): void {
  if (platform.mode !== 'cluster' || spec.remoteUrl !== undefined || transportOf(spec) !== 'stdio') return;
  checkStdioImage(name, spec, platform);
}

/** Milliseconds after which the file is looked at again: a folder that is created is no event. */
const LOOK_AT_FILE = 5_000;

/** Pods have no volume for a log. On one machine, its folder may be missing. @throws Stalled @throws Waiting */
export function checkAuditServed(manifest: Manifest, { audit, config }: ServerSpec, { platform }: Snapshot): void {
  const { enabled, logFile } = audit ?? config.audit ?? {};
  if (enabled !== true || logFile === undefined) return;
  const field = `${audit ? '' : 'config.'}audit.logFile`;
  if (platform.mode === 'cluster') {
    const message = `${field} "${logFile}" cannot be kept, as the pods have no volume for it: remove it, and the events go to standard output, where the cluster collects logs`;
    throw new Stalled('AuditFileNotKept', message);
  }
  const flaw = platform.auditFlaws?.[runtimeNameOf(manifest)];
  if (flaw === undefined) return;
  throw new Waiting('AuditFileNotWritable', `${field}: ${logFile} cannot be written, as ${flaw}`, {
    retryIn: LOOK_AT_FILE,
  });
}
