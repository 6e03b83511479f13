import { defined } from '#operator/plan/defined';
import { Problem } from '../problem.ts';
import type { ResolvedSkill } from './resolve-skills.ts';
import type { InstallRequest, StoredSkill } from './skills.ts';

interface Installing {
  request: Pick<InstallRequest, 'scope' | 'projectRoot' | 'group' | 'force'>;
  live: StoredSkill | undefined;
  clients: string[];
  targets: string[];
  /** Base64 of its archive, if it is stored. */
  archive?: string | undefined;
  /** False when the skill is only a dependency. */
  isAskedFor: boolean;
  /** RFC 3339. */
  now: string;
}

/** Returns undefined for a dependency that is already installed. @throws Problem `already_exists` */
export function nextRecord(skill: ResolvedSkill, installing: Installing): StoredSkill | undefined {
  const { request, live, clients, targets, isAskedFor } = installing;
  if (live && !request.force) {
    const isSame = live.content === skill.content;
    const isMore = targets.some((target) => !live.targets.includes(target)) || clients.length > live.clients.length;
    if (isSame && !isMore && !isAskedFor) return undefined;
    checkVersion(skill.metadata.name, isSame, isMore);
  }
  return renderRecord(skill, installing);
}

function checkVersion(name: string, isSame: boolean, isMore: boolean): void {
  if (!isSame)
    throw new Problem('already_exists', `another version of the skill "${name}" is installed; force replaces it`);
  if (!isMore)
    throw new Problem('already_exists', `the skill "${name}" is installed already; force=true installs it again`);
}

function renderRecord(skill: ResolvedSkill, { request, live, clients, targets, archive, now }: Installing) {
  const { metadata, reference, tag, digest, content, dependencies } = skill;
  const { scope, projectRoot, group } = request;
  return defined({
    ...{ metadata, scope, reference, tag, digest, content, clients, targets, dependencies, archive },
    group: group ?? live?.group,
    project_root: scope === 'project' ? projectRoot : undefined,
    installed_at: now,
    status: 'installed' as const,
  });
}

export function allClients(live: StoredSkill | undefined, clients: readonly string[]): string[] {
  return [...new Set([...(live?.clients ?? []), ...clients])];
}
