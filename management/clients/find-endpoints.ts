import { z } from 'zod';
import { Problem } from '../problem.ts';
import type { Resources } from '../stores/resources.ts';

export interface Endpoints {
  /** Maps the name of each VirtualMCPServer to its URL. */
  served: Map<string, string>;
  awaited: Set<string>;
}

const Grouped = z.object({ config: z.object({ groupRef: z.string() }) });

/** Returns the endpoints of the VirtualMCPServers in these groups, or in all groups if none is named. */
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

/** @throws Problem `bad_request` with the list of existing groups */
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
