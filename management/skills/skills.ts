import { createHash } from 'node:crypto';
import { z } from 'zod';
import { defined } from '#operator/plan/defined';
import type { Clients } from '../clients/clients.ts';
import { InstalledSkill, type SkillMetadata, type SkillScope } from '../records/skill.ts';

/** Without a scope: the skill of the named project, else that of the user. */
export interface WantedLocation {
  scope: SkillScope | undefined;
  projectRoot: string | undefined;
}

export interface SkillLocation {
  scope: SkillScope;
  /** Absolute path; only with scope project. */
  projectRoot: string | undefined;
}

export interface InstallRequest extends SkillLocation {
  reference: string | undefined;
  version: string | undefined;
  archive: Buffer | undefined;
  digest: string | undefined;
  clients: readonly string[] | undefined;
  group: string | undefined;
  force: boolean;
  /** Allows private addresses, also with plain http. */
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
  /** Base64 of its archive, if it is stored. */
  archive: string | undefined;
}

export interface SkillVerdict {
  valid: boolean;
  errors: string[];
  warnings: string[];
}

export type SkillReaders = Pick<Clients, 'list' | 'checkGroup'>;

/** Folders of this machine's clients, or records of a cluster namespace. Every method may throw Problem `store_damaged`, `busy`. */
export interface Skills {
  list(filter: SkillFilter): Promise<InstalledSkill[]>;
  /** @throws Problem `not_found` */
  get(name: string, place: WantedLocation): Promise<FoundSkill>;
  /** Installs dependencies too, or nothing. @throws Problem `bad_request`, `already_exists`, `conflict`, `source_failed` */
  install(request: InstallRequest): Promise<InstalledSkill>;
  /** @throws Problem `not_found`, `conflict`: another skill needs it */
  uninstall(name: string, place: WantedLocation, force: boolean): Promise<void>;
  /** @throws Problem `bad_request`, `path_not_available` */
  validate(what: {
    path?: string | undefined;
    archive?: Buffer | undefined;
    signal: AbortSignal;
  }): Promise<SkillVerdict>;
}

export const StoredSkill = z.strictObject({
  ...InstalledSkill.shape,
  group: z.string().optional(),
  content: z.string(),
  targets: z.array(z.string()),
  /** Base64 of its archive; only in a cluster, which has no other copy. */
  archive: z.string().optional(),
});
export type StoredSkill = z.infer<typeof StoredSkill>;

export function shownSkill(skill: StoredSkill): InstalledSkill {
  const { metadata, scope, project_root, reference, tag, digest, installed_at, status, clients, dependencies } = skill;
  const all = { metadata, scope, project_root, reference, tag, digest, installed_at, status, clients, dependencies };
  return defined(all);
}

export const locationOf = ({ scope, project_root: projectRoot }: StoredSkill): SkillLocation => ({
  scope,
  projectRoot,
});

export function keyOfSkill(name: string, { scope, projectRoot }: SkillLocation): string {
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
