import { Problem } from '../problem.ts';
import type { RecordStore, StoredRecord } from '../stores/record-store.ts';
import { unusable } from './skill-limits.ts';
import { StoredSkill, type WantedLocation } from './skills.ts';

/** @throws Problem `store_damaged` */
export async function readSkills(records: Pick<RecordStore, 'list'>): Promise<StoredSkill[]> {
  const skills = (await records.list()).map(readSkill);
  return skills.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** @throws Problem `store_damaged` */
export function readSkill({ name, value }: StoredRecord): StoredSkill {
  const parsed = StoredSkill.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Problem('store_damaged', `the record of the skill "${name}" cannot be read: restore or remove it`);
}

/** Prefers the skill of the named project to that of the user. @throws Problem `not_found`, `bad_request` */
export function findSkill(
  skills: readonly StoredSkill[],
  name: string,
  { scope, projectRoot }: WantedLocation,
): StoredSkill {
  const wanted = scope ?? (projectRoot === undefined ? 'user' : 'project');
  if (wanted === 'project' && projectRoot === undefined)
    throw unusable('project_root: is missing; with scope project write the folder of the project');
  const found = skills.find(
    (skill) =>
      skill.metadata.name === name &&
      skill.scope === wanted &&
      (wanted === 'user' || skill.project_root === projectRoot),
  );
  if (found) return found;
  const where = wanted === 'user' ? 'for the user' : `in the project ${projectRoot ?? ''}`;
  throw new Problem('not_found', `there is no skill "${name}" ${where}`);
}

/** @throws Problem `conflict`: another skill of the same location needs it */
export function checkNotNeeded(skill: StoredSkill, known: readonly StoredSkill[]): void {
  const { name } = skill.metadata;
  const needing = known.find(
    (one) =>
      one.scope === skill.scope &&
      one.project_root === skill.project_root &&
      one.dependencies.some((needed) => needed.name === name),
  );
  if (needing)
    throw new Problem('conflict', `the skill "${needing.metadata.name}" needs "${name}": uninstall that first`);
}
