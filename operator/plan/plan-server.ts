import { specForOneMachine, VirtualMCPServer } from '#crds/kinds/index';
import type { Manifest, ResourceKey, World } from '../world.ts';
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

/** Plans a VirtualMCPServer: its document, runtime and status. */
export function planServer(key: ResourceKey, manifest: Manifest, world: World, now: string): Outcome {
  try {
    const isLocal = world.platform.mode === 'local';
    const written = isLocal ? { ...manifest, spec: specForOneMachine(manifest.spec) } : manifest;
    const spec = readSpec(VirtualMCPServer, written);
    const { config } = spec;
    checkEndpointPort(manifest, world);
    const { rendered, findings } = resolveRuntime(
      manifest,
      spec,
      (context, files) => {
        const priorityOrder = config.aggregation?.conflictResolutionConfig?.priorityOrder ?? [];
        const members = findGroupMembers(config.groupRef, priorityOrder, world);
        const resolved = resolveBackends(members, context, files);
        if (world.documents[runtimeNameOf(manifest)] === undefined) awaitPrograms(resolved.findings, world);
        return { ...resolved, members: members.map(({ name }) => name) };
      },
      world,
    );
    const status = summariseServer(findings, manifest, observeRuntime(manifest, rendered, world), now);
    const children = renderChildren(manifest, spec, rendered, world);
    return { key, action: 'apply', rendered, children, status, ...lookForProviders(status), ...lookForLists(status) };
  } catch (problem) {
    const serving = world.documents[runtimeNameOf(manifest)] !== undefined;
    return keepOutcome(key, problem, manifest, { serving }, now);
  }
}
