import { affected } from '#operator/affected';
import { plan } from '#operator/plan/plan';
import { withResource } from '#operator/plan/resource-index';
import { keyText, type Kind, type Manifest, type ResourceKey, type Snapshot } from '#operator/snapshot';
import { completedSnapshot, permissiveSnapshot, withoutOperation, withServerInFront } from './permissive-snapshot.ts';

export interface Proposal {
  manifest: Manifest;
  former?: Manifest | undefined;
}

/** The decision for the API server. `message`: the reason of a refusal. Clients show the warnings, which block nothing. */
export interface Review {
  allowed: boolean;
  message?: string;
  warnings: string[];
}

/** The planner needs a time for conditions, which a review discards. */
const NOW = '1970-01-01T00:00:00Z';

/** The API server truncates longer warnings. */
const LONGEST_WARNING = 250;
const MOST_WARNINGS = 10;

/** Most servers that are checked for new faults; the others report them in their status. */
const MOST_SERVERS = 10;

/** Conditions that describe the state or the pods of a resource, not faults. */
const STATES = new Set([
  'Ready',
  'AllBackendsReady',
  'Reconciling',
  'Progressing',
  'Available',
  'BackendsResolved',
  'Stalled',
  'Waiting',
  'ProviderOutOfService',
  // Backends may follow.
  'EmptyGroup',
  'UnknownBackendNames',
]);

const INDEX: Record<
  Kind,
  'virtualMcpServers' | 'mcpGroups' | 'mcpServers' | 'mcpExternalAuthConfigs' | 'mcpOidcConfigs'
> = {
  VirtualMCPServer: 'virtualMcpServers',
  MCPGroup: 'mcpGroups',
  MCPServer: 'mcpServers',
  MCPExternalAuthConfig: 'mcpExternalAuthConfigs',
  MCPOIDCConfig: 'mcpOidcConfigs',
};

function keyOf({ kind, metadata: { namespace, name } }: Manifest): ResourceKey {
  return { kind, namespace, name };
}

/** Returns the planner's messages about a resource, without those that depend on its pods. */
function planned(key: ResourceKey, snapshot: Snapshot) {
  const { status } = plan(key, snapshot, NOW);
  const conditions = status?.conditions ?? [];
  const messages = (types: string[]) =>
    conditions
      .filter(({ type, status: state }) => types.includes(type) && state === 'True')
      .map(({ message }) => message);
  return {
    stalled: messages(['Stalled']),
    waiting: messages(['Waiting']),
    leftOut: (status?.backends ?? []).flatMap(({ name, phase, message }) =>
      phase === 'Excluded' ? [`${name}: ${message}`] : [],
    ),
    advice: conditions
      .filter(({ type, status: state }) => state === 'True' && !STATES.has(type))
      .map(({ message }) => message),
  };
}

function findFaults(manifest: Manifest, snapshot: Snapshot): string[] {
  const alone = permissiveSnapshot(manifest, snapshot);
  const { stalled } = planned(keyOf(manifest), alone);
  if (stalled.length > 0) return stalled;
  const front = withServerInFront(alone, manifest);
  if (!front) return [];
  const server: ResourceKey = { kind: 'VirtualMCPServer', namespace: snapshot.namespace, name: front.server };
  return planned(server, front.snapshot).leftOut.map((text) => text.slice(text.indexOf(': ') + 2));
}

function withManifest(manifest: Manifest, snapshot: Snapshot): Snapshot {
  const index = INDEX[manifest.kind];
  return { ...snapshot, [index]: withResource(snapshot[index], manifest) };
}

function troubles(key: ResourceKey, snapshot: Snapshot): string[] {
  const { stalled, waiting, leftOut } = planned(key, snapshot);
  return [...stalled, ...waiting, ...leftOut];
}

/** Returns the faults of servers that this resource newly causes. */
function findHarm(key: ResourceKey, before: Snapshot, after: Snapshot): string[] {
  const servers = affected(key, after).filter(
    (other) => other.kind === 'VirtualMCPServer' && keyText(other) !== keyText(key),
  );
  return servers.slice(0, MOST_SERVERS).flatMap((server) => {
    const found = troubles(server, after);
    const known = new Set(found.length > 0 ? troubles(server, before) : []);
    return found.filter((text) => !known.has(text)).map((text) => `VirtualMCPServer "${server.name}": ${text}`);
  });
}

function bounded(warnings: string[]): string[] {
  const different = [...new Set(warnings)];
  const shown = different.slice(0, MOST_WARNINGS).map((text) => {
    const line = text.replaceAll(/\s+/g, ' ');
    return line.length > LONGEST_WARNING ? `${line.slice(0, LONGEST_WARNING - 1).toWellFormed()}…` : line;
  });
  const more = different.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more: see the status of the resource`] : shown;
}

/**
 * Refuses faults that do not depend on other resources, except former ones, so that a stricter rule locks no author out. Warns of conflicts
 * with existing resources. Accepts references to missing objects, which may follow. Pure. `known`: everything else of the namespace.
 */
export function review({ manifest, former }: Proposal, known: Snapshot): Review {
  const snapshot = withoutOperation(known);
  const faults = findFaults(manifest, snapshot);
  const formerFaults = new Set(former ? findFaults(former, snapshot) : []);
  const refusing = faults.filter((fault) => !formerFaults.has(fault));
  if (refusing.length > 0) return { allowed: false, message: refusing.join('; '), warnings: [] };
  const key = keyOf(manifest);
  const before = completedSnapshot(manifest, snapshot);
  const after = withManifest(manifest, before);
  const { advice } = planned(key, after);
  return {
    allowed: true,
    warnings: bounded([...troubles(key, after), ...advice, ...findHarm(key, before, after)]),
  };
}
