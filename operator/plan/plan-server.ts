import { specForOneMachine, VirtualMCPServer } from '#crds/kinds/index';
import { Stalled, Waiting } from '../errors.ts';
import type { Manifest, ResourceKey, Snapshot } from '../snapshot.ts';
import { awaitPrograms, checkEndpointPort } from './check-port.ts';
import type { FileList } from './file-list.ts';
import { findGroupMembers, type Member } from './find-group-members.ts';
import type { BackendFinding } from './finding.ts';
import type { Outcome } from './outcome.ts';
import { runtimeNameOf } from './object-parts.ts';
import { readSpec } from './read-resource.ts';
import { type BackendDocument, renderBackend } from './render-backend.ts';
import { renderChildren } from './render-children.ts';
import { lookForProviders } from './resolve-auth-server.ts';
import type { OutgoingContext } from './resolve-outgoing-auth.ts';
import { lookForLists } from './summarise-backends.ts';
import { observeRuntime, resolveRuntime } from './resolve-runtime.ts';
import { keepOutcome, summariseServer } from './summarise-status.ts';

export function planServer(key: ResourceKey, manifest: Manifest, snapshot: Snapshot, now: string): Outcome {
  try {
    const isLocal = snapshot.platform.mode === 'local';
    const written = isLocal ? { ...manifest, spec: specForOneMachine(manifest.spec) } : manifest;
    const spec = readSpec(VirtualMCPServer, written);
    const { config } = spec;
    checkEndpointPort(manifest, snapshot);
    const { rendered, findings } = resolveRuntime(
      manifest,
      spec,
      (context, files) => {
        const priorityOrder = config.aggregation?.conflictResolutionConfig?.priorityOrder ?? [];
        const members = findGroupMembers(config.groupRef, priorityOrder, snapshot);
        const resolved = resolveBackends(members, context, files);
        if (snapshot.documents[runtimeNameOf(manifest)] === undefined) awaitPrograms(resolved.findings, snapshot);
        return { ...resolved, members: members.map(({ name }) => name) };
      },
      snapshot,
    );
    const status = summariseServer(findings, manifest, observeRuntime(manifest, rendered, snapshot), now);
    const children = renderChildren(manifest, spec, rendered, snapshot);
    return { key, action: 'apply', rendered, children, status, ...lookForProviders(status), ...lookForLists(status) };
  } catch (problem) {
    const serving = snapshot.documents[runtimeNameOf(manifest)] !== undefined;
    return keepOutcome(key, problem, manifest, { serving }, now);
  }
}

interface Tried {
  finding: BackendFinding;
  entry?: BackendDocument;
}

function leftOut(name: string, { reason, message }: Stalled | Waiting): Tried {
  return { finding: { name, excluded: { reason, message } } };
}

/** Renders one backend, or returns why it is left out. Discards the files of a backend that is left out. */
function tryBackend(member: Member, context: OutgoingContext, files: FileList): Tried {
  const { name } = member;
  if ('problem' in member) return leftOut(name, member.problem);
  if (member.spec.suspend) return { finding: { name, suspended: true } };
  const own = files.part();
  try {
    const { entry, url, authType } = renderBackend(name, member.spec, context, own);
    files.add(own);
    return { finding: { name, url, authType }, entry };
  } catch (problem) {
    if (problem instanceof Stalled || problem instanceof Waiting) return leftOut(name, problem);
    throw problem;
  }
}

/** Resolves the backends of a document and the status of each group member. A failed backend does not affect the others. */
function resolveBackends(
  members: Member[],
  context: OutgoingContext,
  files: FileList,
): { entries: BackendDocument[]; findings: BackendFinding[] } {
  const tried = members.map((member) => tryBackend(member, context, files));
  return {
    entries: tried.flatMap(({ entry }) => (entry ? [entry] : [])),
    findings: tried.map(({ finding }) => finding),
  };
}
