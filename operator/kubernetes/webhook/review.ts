import { affected } from '#operator/affected';
import { plan } from '#operator/plan/plan';
import { withResource } from '#operator/plan/resource-index';
import { keyText, type Kind, type Manifest, type ResourceKey, type World } from '#operator/world';
import { completedWorld, obligingWorld, withoutOperation, withServerInFront } from './obliging-world.ts';

/** What is to be admitted. */
export interface Proposal {
  manifest: Manifest;
  /** The resource as it stands; absent when it is made. */
  former?: Manifest | undefined;
}

/** What the API server is told. `message`: why it is refused. Warnings are shown to who applies, and stop nothing. */
export interface Review {
  allowed: boolean;
  message?: string;
  warnings: string[];
}

/** The plan needs a time for conditions, which nobody reads here. */
const NOW = '1970-01-01T00:00:00Z';

/** The API server cuts longer ones. */
const LONGEST_WARNING = 250;
const MOST_WARNINGS = 10;

/** Servers that are looked at for what they will lack; those left out say it in their status. */
const MOST_SERVERS = 10;

/** Conditions that say how a resource is, not what to know about it; and those about what runs. */
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

/** What the plan says of a resource, without what depends on its pods. */
function planned(key: ResourceKey, world: World) {
  const { status } = plan(key, world, NOW);
  const conditions = status?.conditions ?? [];
  const messages = (types: string[]) =>
    conditions
      .filter(({ type, status: state }) => types.includes(type) && state === 'True')
      .map(({ message }) => message);
  return {
    /** Only a change of a resource helps. */
    stalled: messages(['Stalled']),
    /** Something named is not there yet. */
    waiting: messages(['Waiting']),
    leftOut: (status?.backends ?? []).flatMap(({ name, phase, message }) =>
      phase === 'Excluded' ? [`${name}: ${message}`] : [],
    ),
    advice: conditions
      .filter(({ type, status: state }) => state === 'True' && !STATES.has(type))
      .map(({ message }) => message),
  };
}

/** What is wrong with a resource whatever else there is. */
function findFaults(manifest: Manifest, world: World): string[] {
  const alone = obligingWorld(manifest, world);
  const { stalled } = planned(keyOf(manifest), alone);
  if (stalled.length > 0) return stalled;
  const front = withServerInFront(alone, manifest);
  if (!front) return [];
  const server: ResourceKey = { kind: 'VirtualMCPServer', namespace: world.namespace, name: front.server };
  return planned(server, front.world).leftOut.map((text) => text.slice(text.indexOf(': ') + 2));
}

function withManifest(manifest: Manifest, world: World): World {
  const index = INDEX[manifest.kind];
  return { ...world, [index]: withResource(world[index], manifest) };
}

function troubles(key: ResourceKey, world: World): string[] {
  const { stalled, waiting, leftOut } = planned(key, world);
  return [...stalled, ...waiting, ...leftOut];
}

/** What servers will lack that lacked nothing before. */
function findHarm(key: ResourceKey, before: World, after: World): string[] {
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
 * Whether a resource is admitted, by the plan's own checks. It is refused for what is wrong with it whatever else there is;
 * what depends on other resources that are there is a warning, as these may be what is at fault; what is not there may follow. What was wrong before may stay:
 * a rule that became stricter must not lock anybody out. Pure. `known`: everything else of the namespace.
 */
export function review({ manifest, former }: Proposal, known: World): Review {
  const world = withoutOperation(known);
  const faults = findFaults(manifest, world);
  const formerFaults = new Set(former ? findFaults(former, world) : []);
  const refusing = faults.filter((fault) => !formerFaults.has(fault));
  if (refusing.length > 0) return { allowed: false, message: refusing.join('; '), warnings: [] };
  const key = keyOf(manifest);
  const before = completedWorld(manifest, world);
  const after = withManifest(manifest, before);
  const { advice } = planned(key, after);
  return {
    allowed: true,
    warnings: bounded([...troubles(key, after), ...advice, ...findHarm(key, before, after)]),
  };
}
