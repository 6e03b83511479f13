import { join } from 'node:path';
import { CLIENTS, findClient, type Home } from '#management/clients/files/clients';
import { unusable } from './skill-limits.ts';
import type { SkillReaders } from './skills.ts';

const USUAL_CLIENT = 'claude-code';

function checkClients(clients: readonly string[]): void {
  const unknown = clients.find((client) => !findClient(client));
  if (unknown !== undefined)
    throw unusable(`clients: "${unknown}" reads no skills; write some of ${CLIENTS.map(({ id }) => id).join(', ')}`);
}

/** Prefers the named clients to those registered for the group, then the default one. @throws Problem */
export async function chooseClients(
  { clients, group }: { clients: readonly string[] | undefined; group: string | undefined },
  readers: SkillReaders,
): Promise<string[]> {
  if (clients) checkClients(clients);
  if (group !== undefined) await readers.checkGroup(group);
  if (clients && clients.length > 0) return [...new Set(clients)];
  const registered = (await readers.list())
    .filter(({ name, groups }) => findClient(name) !== undefined && isFor(groups, group))
    .map(({ name }) => name);
  return registered.length > 0 ? registered : [USUAL_CLIENT];
}

/** A client registered for no group reads the skills of every group. */
function isFor(groups: readonly string[], group: string | undefined): boolean {
  return group === undefined || groups.length === 0 || groups.includes(group);
}

/** Returns distinct folders; without `projectRoot`, those of the user. */
export function skillFolders(clients: readonly string[], home: Home, projectRoot: string | undefined): string[] {
  const all = clients.flatMap((id) => {
    const skills = findClient(id)?.skills;
    if (skills === undefined) return [];
    return projectRoot === undefined ? skills.user(home) : join(projectRoot, skills.project);
  });
  return [...new Set(all)];
}
