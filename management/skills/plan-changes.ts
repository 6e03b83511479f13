import { join } from 'node:path';
import type { Home } from '#management/clients/files/clients';
import { Problem } from '../problem.ts';
import type { Change } from './journal.ts';
import { allClients, nextRecord } from './next-record.ts';
import { checkNoLinks, isThere, isUnchanged } from './place-folder.ts';
import type { ResolvedSkill } from './resolve-skills.ts';
import { skillFolders } from './skill-clients.ts';
import { type InstallRequest, keyOfSkill, locationOf, type StoredSkill } from './skills.ts';

interface Planning {
  request: InstallRequest;
  clients: readonly string[];
  home: Home;
  known: readonly StoredSkill[];
  /** RFC 3339. */
  now: string;
}

/** Puts the requested skill last. Changes nothing itself. @throws Problem `already_exists`, `conflict`, `bad_request` */
export async function planChanges(
  skills: readonly ResolvedSkill[],
  planning: Planning,
): Promise<{ changes: Change[]; record: StoredSkill }> {
  const changes: Change[] = [];
  for (const skill of skills) {
    const change = await planOne(skill, planning, skill === skills.at(-1));
    if (change) changes.push(change);
  }
  const record = changes.at(-1)?.after;
  if (record === undefined) throw new Error('nothing was asked for');
  return { changes, record };
}

async function planOne(skill: ResolvedSkill, planning: Planning, isAskedFor: boolean): Promise<Change | undefined> {
  const { request, known, home, now } = planning;
  const { name } = skill.metadata;
  const key = keyOfSkill(name, request);
  const live = known.find((one) => keyOfSkill(one.metadata.name, locationOf(one)) === key);
  const clients = allClients(live, planning.clients);
  const root = request.scope === 'project' ? request.projectRoot : undefined;
  const targets = skillFolders(clients, home, root).map((folder) => join(folder, name));
  const after = nextRecord(skill, { request, live, clients, targets, isAskedFor, now });
  if (after === undefined) return undefined;
  if (!request.force) await checkFree(targets, live);
  if (root !== undefined) for (const target of targets) await checkNoLinks(root, join(target, '..'));
  const remove = (live?.targets ?? []).filter((target) => !targets.includes(target));
  return { key, source: skill.folder, place: targets, remove, after };
}

/** @throws Problem `conflict` if a target holds other files, or the installed skill was edited */
async function checkFree(targets: readonly string[], live: StoredSkill | undefined): Promise<void> {
  for (const target of targets) {
    if (!(await isThere(target))) continue;
    if (live?.targets.includes(target) !== true)
      throw new Problem('conflict', `${target} is there, and was not installed by vmcp; force replaces it`);
  }
  if (live) await checkUnchanged(live);
}

/** @throws Problem `conflict` if the installed skill was edited */
export async function checkUnchanged({ targets, content }: StoredSkill): Promise<void> {
  for (const target of targets)
    if ((await isThere(target)) && !(await isUnchanged(target, content)))
      throw new Problem('conflict', `${target} has been changed since it was installed; force=true takes that away`);
}
