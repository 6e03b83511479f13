import { Problem } from '../problem.ts';
import type { InstalledSkill } from '../records/skill.ts';
import type { ListSemaphore } from '../stores/list-semaphore.ts';
import type { Records, RecordStore } from '../stores/record-store.ts';
import { checkNotNeeded, findSkill, readSkill, readSkills } from './find-skill.ts';
import { giveVerdict } from './give-verdict.ts';
import { allClients, nextRecord } from './next-record.ts';
import { type ResolvedSkill, resolveSkills } from './resolve-skills.ts';
import { chooseClients } from './skill-clients.ts';
import { Space } from './skill-limits.ts';
import { SkillRecords, type Write } from './skill-records.ts';
import type { SourceRules } from './skill-source.ts';
import {
  type FoundSkill,
  type InstallRequest,
  keyOfSkill,
  matchesFilter,
  shownSkill,
  type SkillFilter,
  type SkillReaders,
  type Skills,
  type StoredSkill,
  type WantedLocation,
} from './skills.ts';
import type { StagingSemaphore } from './staging-semaphore.ts';
import { withStaging } from './staging.ts';

/**
 * Bytes; each file or folder costs a fixed amount. The chart's `tmp` `sizeLimit` is twice this for each concurrent
 * skill: an unpacked layer is stored beside its files, and a pod that exceeds its disk is evicted.
 */
export const MOST = 16 * 1024 * 1024;
const ENTRY = 4096;
const USER = { scope: 'user', projectRoot: undefined } as const;

interface ClusterSkillsOptions {
  namespace: string;
  records: Records;
  readers: SkillReaders;
  rules: SourceRules;
  /** Limits reads, because the records of all skills of a namespace are long. */
  lists: ListSemaphore;
  now: () => number;
}

/** Records for clients elsewhere. Archives sent by callers are stored, because no other copy exists. */
export function clusterSkills(options: ClusterSkillsOptions, semaphore: StagingSemaphore): Skills {
  const records = new SkillRecords(options.records);
  const limited = <T>(read: () => Promise<T>) => options.lists.run(options.namespace, 'the skills', read);
  return {
    list: (filter) => limited(() => list(filter, records)),
    get: (name, place) => limited(() => get(name, place, records)),
    install: (request) => install(request, { ...options, records }, semaphore),
    uninstall: (name, place, force) => uninstall({ name, place, force }, records),
    validate(what) {
      if (what.path !== undefined) throw elsewhere('path');
      return semaphore.run(options.namespace, what.signal, (folder) =>
        giveVerdict(what, folder, new Space(MOST, ENTRY)),
      );
    },
  };
}

async function list(filter: SkillFilter, records: SkillRecords): Promise<InstalledSkill[]> {
  if (filter.projectRoot !== undefined) throw elsewhere('project_root');
  return (await readSkills(records)).filter((skill) => matchesFilter(skill, filter)).map(shownSkill);
}

async function get(name: string, place: WantedLocation, records: SkillRecords): Promise<FoundSkill> {
  checkLocation(place);
  const found = findSkill(await readSkills(records), name, place);
  return { skill: shownSkill(found), metadata: found.metadata, archive: found.archive };
}

interface Installing extends Omit<ClusterSkillsOptions, 'records'> {
  records: SkillRecords;
}

async function install(
  request: InstallRequest,
  { namespace, records, readers, rules, now }: Installing,
  semaphore: StagingSemaphore,
): Promise<InstalledSkill> {
  checkLocation(request);
  const clients = await chooseClients(request, readers);
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(rules.deadline)]);
  const skills = await semaphore.run(namespace, signal, (parent) =>
    withStaging(parent, (staging) => resolveSkills(request, { rules, staging, signal, space: new Space(MOST, ENTRY) })),
  );
  const at = new Date(now()).toISOString();
  const writes = await planWrites(skills, { request, clients, records: await records.settle(), now: at });
  signal.throwIfAborted();
  await records.write(writes);
  const last = writes.at(-1);
  if (last === undefined) throw new Error('nothing was asked for');
  return shownSkill(last.after);
}

interface Planning {
  request: InstallRequest;
  clients: readonly string[];
  records: Pick<RecordStore, 'get'>;
  /** RFC 3339. */
  now: string;
}

/** @throws Problem `already_exists`; nothing was written */
async function planWrites(skills: readonly ResolvedSkill[], planning: Planning): Promise<Write[]> {
  const { request, records, now } = planning;
  const writes: Write[] = [];
  for (const skill of skills) {
    const key = keyOfSkill(skill.metadata.name, USER);
    const record = await records.get(key);
    const live = record && readSkill(record);
    const isAskedFor = skill === skills.at(-1);
    const archive = isAskedFor ? request.archive?.toString('base64') : live?.archive;
    const clients = allClients(live, planning.clients);
    const after = nextRecord(skill, { request, live, clients, targets: [], archive, isAskedFor, now });
    if (after) writes.push({ key, ...(record && { version: record.version }), after });
  }
  return writes;
}

async function uninstall(
  { name, place, force }: { name: string; place: WantedLocation; force: boolean },
  records: SkillRecords,
): Promise<void> {
  checkLocation(place);
  const settled = await records.settle();
  const key = keyOfSkill(name, USER);
  const live = await settled.get(key);
  const found = findSkill(live ? [readSkill(live)] : [], name, place);
  if (!force) await checkNoneNeeds(found, settled);
  await settled.delete(key);
}

/** Reads the skills one by one: skills that are too long to list together must still be deletable. @throws Problem `conflict` */
async function checkNoneNeeds(skill: StoredSkill, records: Pick<RecordStore, 'get' | 'names'>): Promise<void> {
  for (const name of await records.names()) {
    const record = await records.get(name);
    if (record) checkNotNeeded(skill, [readSkill(record)]);
  }
}

function checkLocation({ scope, projectRoot }: WantedLocation): void {
  if (projectRoot !== undefined) throw elsewhere('project_root');
  if (scope === 'project') throw elsewhere('scope project');
}

function elsewhere(what: string): Problem {
  return new Problem('path_not_available', `${what}: a cluster has no projects and folders; leave it out`);
}
