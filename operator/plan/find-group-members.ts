import { MCPServer } from '#crds/kinds/index';
import { Stalled, Waiting } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import { readSpec } from './read-resource.ts';
import { resourcesNaming } from './resource-index.ts';

export type BackendSpec = MCPServer['spec'];

/** An MCPServer of the group. `problem`: its own resource is invalid. */
export type Member = { name: string; spec: BackendSpec } | { name: string; problem: Stalled };

export function groupOf(spec: unknown): string | undefined {
  if (typeof spec !== 'object' || spec === null || !('groupRef' in spec)) return undefined;
  return typeof spec.groupRef === 'string' ? spec.groupRef : undefined;
}

export function memberNames(group: string, snapshot: Snapshot): string[] {
  const members = resourcesNaming(snapshot.mcpServers, group).filter(({ spec }) => groupOf(spec) === group);
  return members.map(({ metadata }) => metadata.name).sort();
}

function readMember(name: string, snapshot: Snapshot): Member[] {
  const manifest = snapshot.mcpServers[name];
  if (!manifest) return [];
  try {
    return [{ name, spec: readSpec(MCPServer, manifest) }];
  } catch (problem) {
    if (problem instanceof Stalled) return [{ name, problem }];
    throw problem;
  }
}

/** Returns the members in configuration order: those in `priorityOrder` first, the others by name. @throws Waiting without the group */
export function findGroupMembers(group: string, priorityOrder: string[], snapshot: Snapshot): Member[] {
  if (!snapshot.mcpGroups[group]) {
    const message = `config.groupRef names MCPGroup "${group}", which does not exist: create it`;
    throw new Waiting('GroupNotFound', message);
  }
  const names = memberNames(group, snapshot);
  const first = priorityOrder.filter((name) => names.includes(name));
  const ordered = new Set([...first, ...names]);
  return [...ordered].flatMap((name) => readMember(name, snapshot));
}
