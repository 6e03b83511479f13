import { z } from 'zod';
import { Problem } from '../problem.ts';
import type { Resources } from '../stores/resources.ts';

/** What clients of some groups are given. */
export interface Endpoints {
  /** Name of each VirtualMCPServer to its URL. */
  served: Map<string, string>;
  /** VirtualMCPServers that are there and have no URL yet, or not at the moment. */
  awaited: Set<string>;
}

const Grouped = z.object({ config: z.object({ groupRef: z.string() }) });

/** Endpoints of the VirtualMCPServers of these groups, of all groups where none is named. */
export async function findEndpoints(resources: Pick<Resources, 'list'>, groups: readonly string[]): Promise<Endpoints> {
  const endpoints: Endpoints = { served: new Map(), awaited: new Set() };
  for (const { name, spec, status } of await resources.list('VirtualMCPServer')) {
    const group = Grouped.safeParse(spec).data?.config.groupRef;
    if (group === undefined || (groups.length > 0 && !groups.includes(group))) continue;
    if (status?.url === undefined) endpoints.awaited.add(name);
    else endpoints.served.set(name, status.url);
  }
  return endpoints;
}

/** @throws Problem `bad_request` that says which groups there are */
export async function checkGroups(
  resources: Pick<Resources, 'list'>,
  groups: readonly string[],
  field = 'groups',
): Promise<void> {
  if (groups.length === 0) return;
  const known = (await resources.list('MCPGroup')).map(({ name }) => name);
  const unknown = groups.find((group) => !known.includes(group));
  if (unknown === undefined) return;
  const there = known.length === 0 ? 'there is none' : `there is: ${known.join(', ')}`;
  throw new Problem('bad_request', `${field}: there is no group "${unknown}" (${there})`);
}
