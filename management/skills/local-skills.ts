import { randomBytes } from 'node:crypto';
import { isAbsolute, join, resolve } from 'node:path';
import type { Home } from '#management/clients/files/clients';
import { FileLock, LockBusy } from '#lib/files/file-lock';
import { Problem } from '../problem.ts';
import type { InstalledSkill } from '../records/skill.ts';
import { fileRecords } from '../stores/file-records.ts';
import { withFileProblems } from '../stores/problem-of-file.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { checkFolder } from './fetch-skill.ts';
import { checkNotNeeded, findSkill, readSkills } from './find-skill.ts';
import { giveVerdict } from './give-verdict.ts';
import { type Change, Journal } from './journal.ts';
import { isUnchanged } from './place-folder.ts';
import { checkUnchanged, planChanges } from './plan-changes.ts';
import { resolveSkills } from './resolve-skills.ts';
import { chooseClients } from './skill-clients.ts';
import { Space, unusable } from './skill-limits.ts';
import type { SourceRules } from './skill-source.ts';
import {
  type FoundSkill,
  type InstallRequest,
  keyOfSkill,
  matchesFilter,
  locationOf,
  shownSkill,
  type SkillFilter,
  type SkillReaders,
  type Skills,
  type StoredSkill,
  type WantedLocation,
} from './skills.ts';
import { withStaging } from './staging.ts';

interface LocalSkillsOptions {
  /** State folder of this user, not of a project: all projects share the user's skills. */
  folder: string;
  home: Home;
  rules: SourceRules;
  now: () => number;
  /** Milliseconds to wait for another process that changes skills. */
  patience?: number;
}

/** One instance per process. */
export class LocalSkills {
  readonly #options: LocalSkillsOptions;
  readonly #staging: string;
  readonly #records: RecordStore;
  readonly #journal: Journal;
  readonly #lock: FileLock;

  constructor(options: LocalSkillsOptions) {
    const { folder, patience: deadline } = options;
    this.#options = options;
    this.#staging = join(folder, 'staging');
    this.#records = fileRecords(join(folder, 'records'), 'user')('skills');
    this.#journal = new Journal(join(folder, 'work.json'), this.#records);
    this.#lock = new FileLock(join(folder, '.lock'), { ...(deadline !== undefined && { deadline }) });
  }

  for(readers: SkillReaders): Skills {
    return {
      list: (filter) => withFileProblems(() => this.#list(filter)),
      get: (name, place) => withFileProblems(() => this.#get(name, place)),
      install: (request) => withFileProblems(() => this.#install(request, readers)),
      uninstall: (name, place, force) => withFileProblems(() => this.#uninstall(name, place, force)),
      validate: (what) => withFileProblems(() => giveVerdict(what, this.#staging)),
    };
  }

  async #list(filter: SkillFilter): Promise<InstalledSkill[]> {
    checkRoot(filter.projectRoot);
    return (await this.#known()).filter((skill) => matchesFilter(skill, filter)).map(shownSkill);
  }

  async #get(name: string, place: WantedLocation): Promise<FoundSkill> {
    checkRoot(place.projectRoot);
    const found = findSkill(await this.#known(), name, place);
    const { targets, content, metadata, status } = found;
    const whole = await Promise.all(targets.map((target) => isUnchanged(target, content)));
    const isFailed = status === 'installed' && !whole.every(Boolean);
    return {
      skill: { ...shownSkill(found), ...(isFailed && { status: 'failed' }) },
      metadata,
      archive: undefined,
    };
  }

  async #install(request: InstallRequest, readers: SkillReaders): Promise<InstalledSkill> {
    if (request.scope === 'project') await checkProject(request.projectRoot);
    const clients = await chooseClients(request, readers);
    const { rules, home, now } = this.#options;
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(rules.deadline)]);
    return withStaging(this.#staging, async (staging) => {
      const skills = await resolveSkills(request, { rules, staging, signal, space: new Space() });
      return this.#alone(async () => {
        await this.#journal.recover();
        const known = await readSkills(this.#records);
        const planning = { request, clients, home, known, now: new Date(now()).toISOString() };
        const { changes, record } = await planChanges(skills, planning);
        signal.throwIfAborted();
        await this.#journal.run(randomBytes(6).toString('hex'), changes);
        return shownSkill(record);
      });
    });
  }

  async #uninstall(name: string, place: WantedLocation, force: boolean): Promise<void> {
    checkRoot(place.projectRoot);
    await this.#alone(async () => {
      await this.#journal.recover();
      const known = await readSkills(this.#records);
      const found = findSkill(known, name, place);
      if (!force) {
        checkNotNeeded(found, known);
        await checkUnchanged(found);
      }
      const change = { key: keyOfSkill(name, locationOf(found)), place: [], remove: found.targets };
      await this.#journal.run(randomBytes(6).toString('hex'), [change]);
    });
  }

  /** Completes abandoned changes first, and returns skills under change as pending. */
  async #known(): Promise<StoredSkill[]> {
    const work = this.#journal.inFlight();
    if (work?.isAbandoned) await this.#alone(() => this.#journal.recover());
    const known = await readSkills(this.#records);
    return work === undefined || work.isAbandoned ? known : withPending(known, work.changes);
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.#lock.run(work);
    } catch (error) {
      if (error instanceof LockBusy) throw new Problem('busy', 'another vmcp works on skills now: try again');
      throw error;
    }
  }
}

function withPending(known: readonly StoredSkill[], changes: readonly Change[]): StoredSkill[] {
  const all = new Map(known.map((skill) => [keyOfSkill(skill.metadata.name, locationOf(skill)), skill]));
  for (const { key, after } of changes) {
    const skill = after ?? all.get(key);
    if (skill) all.set(key, { ...skill, status: 'pending' });
  }
  return [...all.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function checkRoot(root: string | undefined): void {
  if (root !== undefined && (!isAbsolute(root) || resolve(root) !== root))
    throw unusable('project_root: is no absolute path, or not its shortest form');
}

async function checkProject(root: string | undefined): Promise<void> {
  if (root === undefined)
    throw unusable('project_root: is missing; with scope project write the folder of the project');
  checkRoot(root);
  await checkFolder('project_root', root);
}
