import { join } from 'node:path';
import type { Home } from '#management/clients/files/clients';
import { unusable } from './skill-limits.ts';
import type { SkillReaders } from './skills.ts';

/** Folders in which a client looks for skills, each in a subfolder of its name. */
interface SkillFolders {
  /** Folder for all projects of the user. */
  user: (home: Home) => string;
  /** Folder below the root of a project. */
  project: string;
}

const xdg = ({ path, environment }: Home): string => environment.XDG_CONFIG_HOME ?? join(path, '.config');

/** Shared by several clients. */
const SHARED = '.agents/skills';

/** Skill folders by the registered name of the client. */
const FOLDERS: ReadonlyMap<string, SkillFolders> = new Map([
  [
    'claude-code',
    {
      user: ({ path, environment }: Home) => join(environment.CLAUDE_CONFIG_DIR ?? join(path, '.claude'), 'skills'),
      project: '.claude/skills',
    },
  ],
  ['cursor', { user: ({ path }: Home) => join(path, '.cursor/skills'), project: SHARED }],
  ['vscode', { user: ({ path }: Home) => join(path, '.copilot/skills'), project: SHARED }],
  [
    'codex',
    {
      user: ({ path, environment }: Home) => join(environment.CODEX_HOME ?? join(path, '.codex'), 'skills'),
      project: SHARED,
    },
  ],
  ['gemini', { user: ({ path }: Home) => join(path, '.gemini/skills'), project: SHARED }],
  ['windsurf', { user: ({ path }: Home) => join(path, '.codeium/windsurf/skills'), project: '.windsurf/skills' }],
  ['goose', { user: (home: Home) => join(xdg(home), 'goose/skills'), project: '.goose/skills' }],
  ['zed', { user: ({ path }: Home) => join(path, SHARED), project: SHARED }],
]);

/** Client of a skill when none is named or registered. */
const USUAL_CLIENT = 'claude-code';

function checkClients(clients: readonly string[]): void {
  const unknown = clients.find((client) => !FOLDERS.has(client));
  if (unknown !== undefined)
    throw unusable(`clients: "${unknown}" reads no skills; write some of ${[...FOLDERS.keys()].join(', ')}`);
}

/** Returns the named clients, else those registered for the group, else the default one. @throws Problem */
export async function chooseClients(
  { clients, group }: { clients: readonly string[] | undefined; group: string | undefined },
  readers: SkillReaders,
): Promise<string[]> {
  if (clients) checkClients(clients);
  if (group !== undefined) await readers.checkGroup(group);
  if (clients && clients.length > 0) return [...new Set(clients)];
  const registered = (await readers.list())
    .filter(({ name, groups }) => FOLDERS.has(name) && isFor(groups, group))
    .map(({ name }) => name);
  return registered.length > 0 ? registered : [USUAL_CLIENT];
}

/** A client registered for no group reads the skills of every group. */
function isFor(groups: readonly string[], group: string | undefined): boolean {
  return group === undefined || groups.length === 0 || groups.includes(group);
}

/** Returns the distinct target folders of a skill. Without `projectRoot`: those of the user. */
export function skillFolders(clients: readonly string[], home: Home, projectRoot: string | undefined): string[] {
  const all = clients.flatMap((client) => {
    const folders = FOLDERS.get(client);
    if (folders === undefined) return [];
    return projectRoot === undefined ? folders.user(home) : join(projectRoot, folders.project);
  });
  return [...new Set(all)];
}
