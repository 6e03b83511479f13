import { transportOf } from '#crds/kinds/index';
import type { Status } from '#crds/kinds/status';
import { valueAt } from '#crds/parts/rule';
import { type Manifest, runtimeName, type Snapshot } from '../snapshot.ts';
import { readText } from '../yaml-text.ts';
import { backendChild, runtimeChildOf } from './child-names.ts';
import type { BackendSpec } from './find-group-members.ts';
import { restartedAt } from './object-parts.ts';
import { hasOwnEndpoint } from './own-endpoint.ts';

const statusOf = ({ status }: Manifest) => (status as Partial<Status> | undefined) ?? {};
const formerOf = (manifest: Manifest) => statusOf(manifest).restartedAt;

/** Milliseconds. A server that becomes Stalled emits no event, so the plan looks again. */
const LOOK_AGAIN = 5000;

export function lookAgain(
  manifest: Manifest,
  carriedOut: string | undefined,
  { platform }: Snapshot,
): { requeueAfter?: number } {
  const at = restartedAt(manifest);
  return platform.mode === 'cluster' || at === '' || at === carriedOut ? {} : { requeueAfter: LOOK_AGAIN };
}

export function awaitsRestart(manifest: Manifest): boolean {
  const at = restartedAt(manifest);
  return at !== '' && at !== formerOf(manifest);
}

/** Returns the child names that run an MCPServer in a cluster. Without one, there is nothing to restart. */
function childrenOf({ kind, metadata: { name } }: Manifest, spec: BackendSpec): string[] {
  const program = spec.remoteUrl === undefined ? [backendChild(name)] : [];
  return [...program, ...(hasOwnEndpoint(spec) ? [runtimeChildOf({ kind, name })] : [])];
}

/** Returns whether a server serves a former document until its fault is repaired. It then takes over no restart. */
function isStalled(server: Manifest): boolean {
  const { conditions = [], observedGeneration } = statusOf(server);
  const isSaid = conditions.some(({ type, status }) => type === 'Stalled' && status === 'True');
  return isSaid && observedGeneration === server.metadata.generation;
}

function hasTakenOver(runtime: string, backend: string, at: string, { documents, observed }: Snapshot): boolean {
  const text = documents[runtime];
  if (text?.includes(backend) !== true) return true;
  const backends = valueAt(readText(text), ['backends']);
  const entries: unknown[] = Array.isArray(backends) ? backends : [];
  const entry = entries.find((one) => valueAt(one, ['name']) === backend);
  return entry === undefined || (valueAt(entry, ['restarted_at']) === at && observed[runtime]?.current === true);
}

/** Returns whether every process of the backend started after the request. Processes of its own start when this plan is applied. */
function isDoneHere(manifest: Manifest, spec: BackendSpec, at: string, snapshot: Snapshot): boolean {
  const { kind, metadata } = manifest;
  const own = runtimeName({ kind, name: metadata.name });
  if (hasOwnEndpoint(spec) && snapshot.observed[own]?.restartedAt !== at) return false;
  if (spec.remoteUrl !== undefined || transportOf(spec) !== 'stdio') return true;
  const servers = Object.values(snapshot.virtualMcpServers).filter((server) => !isStalled(server));
  const runtimes = [own, ...servers.map(({ metadata: { name } }) => name)];
  return runtimes.every((runtime) => hasTakenOver(runtime, metadata.name, at, snapshot));
}

/** Returns the last restart (RFC 3339) that all processes or pods carried out. Local Stalled servers do not count: they wait for repair. */
export function carriedOutRestart(manifest: Manifest, spec: BackendSpec, snapshot: Snapshot): string | undefined {
  const at = restartedAt(manifest);
  if (at === '') return undefined;
  if (!awaitsRestart(manifest)) return at;
  if (spec.suspend) return formerOf(manifest);
  const { platform, deployments } = snapshot;
  const isDone =
    platform.mode === 'local'
      ? isDoneHere(manifest, spec, at, snapshot)
      : childrenOf(manifest, spec).every((child) => {
          const observed = deployments?.[child];
          return observed?.complete === true && observed.restartedAt === at;
        });
  return isDone ? at : formerOf(manifest);
}
