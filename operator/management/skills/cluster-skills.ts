import { Problem } from '../problem.ts';
import type { InstalledSkill } from '../records/skill.ts';
import type { RecordStore, StoredRecord } from '../stores/record-store.ts';
import type { ClusterRoom } from './cluster-room.ts';
import { checkNotNeeded, findSkill, readSkill, readSkills } from './find-skill.ts';
import { giveVerdict } from './give-verdict.ts';
import { allClients, nextRecord } from './next-record.ts';
import { type ResolvedSkill, resolveSkills } from './resolve-skills.ts';
import { chooseClients } from './skill-clients.ts';
import { Space } from './skill-limits.ts';
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
  type WantedPlace,
} from './skills.ts';
import { withStaging } from './staging.ts';

/** Bytes: a pod has little room that is its own, and beyond it is evicted. */
const MOST = 16 * 1024 * 1024;
const USER = { scope: 'user', projectRoot: undefined } as const;

interface ClusterSkillsOptions {
  records: RecordStore;
  readers: SkillReaders;
  rules: SourceRules;
  now: () => number;
}

/**
 * Skills of a cluster's namespace: records of what was fetched, found right and pinned, for clients that are elsewhere. Those that come
 * as archives are kept, as they are nowhere else.
 */
export function clusterSkills(options: ClusterSkillsOptions, room: ClusterRoom): Skills {
  const { records } = options;
  return {
    list: (filter) => list(filter, records),
    get: (name, place) => get(name, place, records),
    install: (request) => install(request, options, room),
    uninstall: (name, place, force) => uninstall({ name, place, force }, records),
    validate(what) {
      if (what.path !== undefined) throw elsewhere('path');
      return room.run((staging) => giveVerdict(what, staging, new Space(MOST)));
    },
  };
}

async function list(filter: SkillFilter, records: RecordStore): Promise<InstalledSkill[]> {
  if (filter.projectRoot !== undefined) throw elsewhere('project_root');
  return (await readSkills(records)).filter((skill) => matchesFilter(skill, filter)).map(shownSkill);
}

async function get(name: string, place: WantedPlace, records: RecordStore): Promise<FoundSkill> {
  checkPlace(place);
  const found = findSkill(await readSkills(records), name, place);
  return { skill: shownSkill(found), metadata: found.metadata, archive: found.archive };
}

/** What is needed is recorded first: whoever is killed in between leaves nothing that lacks what it needs. */
async function install(
  request: InstallRequest,
  { records, readers, rules, now }: ClusterSkillsOptions,
  room: ClusterRoom,
): Promise<InstalledSkill> {
  checkPlace(request);
  const clients = await chooseClients(request, readers);
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(rules.deadline)]);
  const skills = await room.run((parent) =>
    withStaging(parent, (staging) => resolveSkills(request, { rules, staging, signal, space: new Space(MOST) })),
  );
  const writes = await planWrites(skills, { request, clients, records, now: new Date(now()).toISOString() });
  signal.throwIfAborted();
  for (const { key, live, after } of writes)
    await (live ? records.replace(key, after, live.version) : records.create(key, after));
  const last = writes.at(-1);
  if (last === undefined) throw new Error('nothing was asked for');
  return shownSkill(last.after);
}

interface Write {
  key: string;
  live: StoredRecord | undefined;
  after: StoredSkill;
}

interface Planning {
  request: InstallRequest;
  clients: readonly string[];
  records: RecordStore;
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
    if (after) writes.push({ key, live: record, after });
  }
  return writes;
}

async function uninstall(
  { name, place, force }: { name: string; place: WantedPlace; force: boolean },
  records: RecordStore,
): Promise<void> {
  checkPlace(place);
  const known = await readSkills(records);
  const found = findSkill(known, name, place);
  if (!force) checkNotNeeded(found, known);
  await records.delete(keyOfSkill(name, USER));
}

function checkPlace({ scope, projectRoot }: WantedPlace): void {
  if (projectRoot !== undefined) throw elsewhere('project_root');
  if (scope === 'project') throw elsewhere('scope project');
}

function elsewhere(what: string): Problem {
  return new Problem('path_not_available', `${what}: a cluster has no projects and folders; leave it out`);
}
