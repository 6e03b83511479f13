import { specForOneMachine, VirtualMCPServer } from '#crds/kinds/index';
import type { Manifest, ResourceKey, Snapshot } from '../snapshot.ts';
import { awaitPrograms, checkEndpointPort } from './check-port.ts';
import { findGroupMembers } from './find-group-members.ts';
import { keepOutcome } from './keep-outcome.ts';
import { runtimeNameOf } from './object-parts.ts';
import type { Outcome } from './outcome.ts';
import { readSpec } from './read-resource.ts';
import { renderChildren } from './render-children.ts';
import { lookForProviders } from './resolve-auth-server.ts';
import { resolveBackends } from './resolve-backends.ts';
import { lookForLists } from './summarise-backends.ts';
import { observeRuntime, resolveRuntime } from './resolve-runtime.ts';
import { summariseServer } from './summarise-status.ts';

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
