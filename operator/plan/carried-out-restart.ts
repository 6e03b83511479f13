import { transportOf } from '#crds/kinds/index';
import type { Status } from '#crds/kinds/status';
import { valueAt } from '#crds/parts/rule';
import { type Manifest, runtimeName, type World } from '../world.ts';
import { readText } from '../yaml-text.ts';
import { backendChild, runtimeChildOf } from './child-names.ts';
import type { BackendSpec } from './find-group-members.ts';
import { restartedAt } from './object-parts.ts';
import { hasOwnEndpoint } from './own-endpoint.ts';

const statusOf = ({ status }: Manifest) => (status as Partial<Status> | undefined) ?? {};
const formerOf = (manifest: Manifest) => statusOf(manifest).restartedAt;

/** Milliseconds. That a server became Stalled is no change of anything, so whoever waits for it has to look. */
const LOOK_AGAIN = 5000;

/** When to look again at a workload on one machine whose restart has not been carried out. `carriedOut` as below. */
export function lookAgain(
  manifest: Manifest,
  carriedOut: string | undefined,
  { platform }: World,
): { requeueAfter?: number } {
  const at = restartedAt(manifest);
  return platform.mode === 'cluster' || at === '' || at === carriedOut ? {} : { requeueAfter: LOOK_AGAIN };
}

/** Whether a person asked for a restart that has not been carried out yet. */
export function awaitsRestart(manifest: Manifest): boolean {
  const at = restartedAt(manifest);
  return at !== '' && at !== formerOf(manifest);
}

/** What runs an MCPServer in a cluster: one without any has nothing to start anew. */
function childrenOf({ kind, metadata: { name } }: Manifest, spec: BackendSpec): string[] {
  const program = spec.remoteUrl === undefined ? [backendChild(name)] : [];
  return [...program, ...(hasOwnEndpoint(spec) ? [runtimeChildOf({ kind, name })] : [])];
}

/** Whether a server serves a former document until somebody mends something: it takes no restart over. */
function isStalled(server: Manifest): boolean {
  const { conditions = [], observedGeneration } = statusOf(server);
  const isSaid = conditions.some(({ type, status }) => type === 'Stalled' && status === 'True');
  return isSaid && observedGeneration === server.metadata.generation;
}

/** Whether a runtime that starts this program on standard input and output has taken over that it is another one from then on. */
function hasTakenOver(runtime: string, backend: string, at: string, { documents, observed }: World): boolean {
  const text = documents[runtime];
  if (text?.includes(backend) !== true) return true;
  const backends = valueAt(readText(text), ['backends']);
  const entries: unknown[] = Array.isArray(backends) ? backends : [];
  const entry = entries.find((one) => valueAt(one, ['name']) === backend);
  return entry === undefined || (valueAt(entry, ['restarted_at']) === at && observed[runtime]?.current === true);
}

/** Whether all that runs it on this machine was started after it was asked for. What is a process of its own is, once this plan is applied. */
function isDoneHere(manifest: Manifest, spec: BackendSpec, at: string, world: World): boolean {
  const { kind, metadata } = manifest;
  const own = runtimeName({ kind, name: metadata.name });
  if (hasOwnEndpoint(spec) && world.observed[own]?.restartedAt !== at) return false;
  if (spec.remoteUrl !== undefined || transportOf(spec) !== 'stdio') return true;
  const servers = Object.values(world.virtualMcpServers).filter((server) => !isStalled(server));
  const runtimes = [own, ...servers.map(({ metadata: { name } }) => name)];
  return runtimes.every((runtime) => hasTakenOver(runtime, metadata.name, at, world));
}

/**
 * The restart (RFC 3339, as it was asked for) that has been carried out last: every process or pod of the workload is a new one.
 * Undefined where none was asked for, or the first has not been carried out yet. On one machine nobody waits for servers that are
 * Stalled: what they serve, programs included, stays as it is until they are mended.
 */
export function carriedOutRestart(manifest: Manifest, spec: BackendSpec, world: World): string | undefined {
  const at = restartedAt(manifest);
  if (at === '') return undefined;
  if (!awaitsRestart(manifest)) return at;
  if (spec.suspend) return formerOf(manifest);
  const { platform, deployments } = world;
  const isDone =
    platform.mode === 'local'
      ? isDoneHere(manifest, spec, at, world)
      : childrenOf(manifest, spec).every((child) => {
          const observed = deployments?.[child];
          return observed?.complete === true && observed.restartedAt === at;
        });
  return isDone ? at : formerOf(manifest);
}
