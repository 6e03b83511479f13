import { createHash } from 'node:crypto';
import { z } from 'zod';
import { defined } from '#operator/plan/defined';
import type { Clients } from '../clients/clients.ts';
import { InstalledSkill, type SkillMetadata, type SkillScope } from '../records/skill.ts';

/** Which of the skills of one name is meant; without a scope that of the project where one is named, else the user's. */
export interface WantedPlace {
  scope: SkillScope | undefined;
  projectRoot: string | undefined;
}

/** Where a skill is. */
export interface SkillPlace {
  scope: SkillScope;
  /** Absolute path, with scope project. */
  projectRoot: string | undefined;
}

export interface InstallRequest extends SkillPlace {
  /** Reference; absent where an archive was sent. */
  reference: string | undefined;
  version: string | undefined;
  archive: Buffer | undefined;
  /** Digest that what is installed must have. */
  digest: string | undefined;
  clients: readonly string[] | undefined;
  group: string | undefined;
  force: boolean;
  /** Private addresses may be called, and these by plain http. */
  allowPrivateAddress: boolean;
  signal: AbortSignal;
}

export interface SkillFilter {
  scope: SkillScope | undefined;
  projectRoot: string | undefined;
  client: string | undefined;
  group: string | undefined;
}

export interface FoundSkill {
  skill: InstalledSkill;
  metadata: SkillMetadata;
  /** Base64 of the archive that it came from, where it is kept. */
  archive: string | undefined;
}

export interface SkillVerdict {
  valid: boolean;
  errors: string[];
  warnings: string[];
}

/** Who may read skills, and for which groups. */
export type SkillReaders = Pick<Clients, 'list' | 'checkGroup'>;

/**
 * The skills that are installed. Two of them: in the folders of this machine's clients, and as records of a cluster's namespace, for
 * clients elsewhere. All may throw Problem `store_damaged`, `busy`.
 */
export interface Skills {
  list(filter: SkillFilter): Promise<InstalledSkill[]>;
  /** @throws Problem `not_found` */
  get(name: string, place: WantedPlace): Promise<FoundSkill>;
  /** All of it and what it needs, or nothing. @throws Problem `bad_request`, `already_exists`, `conflict`, `source_failed` */
  install(request: InstallRequest): Promise<InstalledSkill>;
  /** @throws Problem `not_found`, `conflict`: another skill needs it */
  uninstall(name: string, place: WantedPlace, force: boolean): Promise<void>;
  /** @throws Problem `bad_request`, `path_not_available` */
  validate(what: {
    path?: string | undefined;
    archive?: Buffer | undefined;
    signal: AbortSignal;
  }): Promise<SkillVerdict>;
}

/** What is stored of a skill. */
export const StoredSkill = z.strictObject({
  ...InstalledSkill.shape,
  group: z.string().optional(),
  /** Digest of its files (digest-tree.ts). */
  content: z.string(),
  /** Folders that it was put into; none in a cluster. */
  targets: z.array(z.string()),
  /** Base64 of the archive that it came from, in a cluster: it is nowhere else. */
  archive: z.string().optional(),
});
export type StoredSkill = z.infer<typeof StoredSkill>;

/** What callers see of it. */
export function shownSkill(skill: StoredSkill): InstalledSkill {
  const { metadata, scope, project_root, reference, tag, digest, installed_at, status, clients, dependencies } = skill;
  const all = { metadata, scope, project_root, reference, tag, digest, installed_at, status, clients, dependencies };
  return defined(all);
}

export const placeOf = ({ scope, project_root: projectRoot }: StoredSkill): SkillPlace => ({ scope, projectRoot });

/** Name of its record. */
export function keyOfSkill(name: string, { scope, projectRoot }: SkillPlace): string {
  if (scope === 'user') return `user:${name}`;
  const project = createHash('sha256')
    .update(projectRoot ?? '')
    .digest('hex');
  return `project:${project.slice(0, 32)}:${name}`;
}

export function matchesFilter(skill: StoredSkill, { scope, projectRoot, client, group }: SkillFilter): boolean {
  return (
    (scope === undefined || skill.scope === scope) &&
    (projectRoot === undefined || skill.scope === 'user' || skill.project_root === projectRoot) &&
    (client === undefined || skill.clients.includes(client)) &&
    (group === undefined || skill.group === group)
  );
}
