import { valueAt } from '#crds/parts/rule';
import type { Status } from '#crds/kinds/status';
import type { Manifest, ResourceKey, Snapshot } from '../snapshot.ts';
import { groupOf, memberNames } from './find-group-members.ts';
import { resourcesNaming } from './resource-index.ts';

/** Names listed in a status; the count includes all. */
const LISTED = 100;

type References = Pick<Status, 'referencedBy' | 'referenceCount'>;

/** Returns whether a field with the given name holds a resource's name, at any depth of an unchecked spec. */
function refers(value: unknown, field: string, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value as Record<string, unknown>).some(([key, inside]) => {
    const named =
      inside === name || (typeof inside === 'object' && inside !== null && 'name' in inside && inside.name === name);
    return (key === field && named) || refers(inside, field, name);
  });
}

function usersIn(resources: Record<string, Manifest>, field: string, name: string): { kind: string; name: string }[] {
  return resourcesNaming(resources, name)
    .filter(({ spec }) => refers(spec, field, name))
    .map(({ kind, metadata }) => ({ kind, name: metadata.name }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function list(users: { kind: string; name: string }[]): References {
  return { referencedBy: users.slice(0, LISTED), referenceCount: users.length };
}

/** Returns the names of a group's servers, sorted, also if the group does not exist. */
export function serversOfGroup(group: string, snapshot: Snapshot): string[] {
  const servers = resourcesNaming(snapshot.virtualMcpServers, group);
  const joined = servers.filter(({ spec }) => valueAt(spec, ['config', 'groupRef']) === group);
  return joined.map(({ metadata }) => metadata.name).sort();
}

function serversOf(backend: string, snapshot: Snapshot): { kind: string; name: string }[] {
  const group = groupOf(snapshot.mcpServers[backend]?.spec);
  return group !== undefined && snapshot.mcpGroups[group] ? usersIn(snapshot.virtualMcpServers, 'groupRef', group) : [];
}

export function findReferences({ kind, name }: ResourceKey, snapshot: Snapshot): References {
  switch (kind) {
    case 'MCPServer':
      return list(serversOf(name, snapshot));
    case 'MCPGroup':
      return list(usersIn(snapshot.virtualMcpServers, 'groupRef', name));
    case 'MCPExternalAuthConfig':
      return list([
        ...usersIn(snapshot.virtualMcpServers, 'externalAuthConfigRef', name),
        ...usersIn(snapshot.mcpServers, 'externalAuthConfigRef', name),
      ]);
    case 'MCPOIDCConfig':
      return list([
        ...usersIn(snapshot.virtualMcpServers, 'oidcConfigRef', name),
        ...usersIn(snapshot.mcpServers, 'oidcConfigRef', name),
      ]);
    default:
      return {};
  }
}

export function listServers(group: string, snapshot: Snapshot): Pick<Status, 'servers' | 'serverCount'> {
  const names = memberNames(group, snapshot);
  return { servers: names.slice(0, LISTED), serverCount: names.length };
}
