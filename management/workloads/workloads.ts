import { QueueFull, Semaphore } from '#lib/limits/semaphore';
import { standsIn } from '#operator/kubernetes/apply/compare-objects';
import { type Expected, isExpected } from '../if-match.ts';
import { Problem, problemOf } from '../problem.ts';
import { CHECKED_IMAGE, type CheckedImage } from '../provenance/checked-image.ts';
import type {
  NewWorkload,
  WorkloadDetail,
  WorkloadEdit,
  WorkloadReport,
  WorkloadSummary,
} from '../records/workload.ts';
import { type Attempts, onWhatIsRead } from '../stores/attempts.ts';
import { isStale, stale } from '../stores/record-store.ts';
import { identityOf, type Resources, type StoredResource, type WriteOptions } from '../stores/resources.ts';
import { applyDetail, type Edited, type DetailOptions, renderDetail } from './detail.ts';
import { type PermissionProfiles, type Read, versionOf } from './permission-profiles.ts';
import { findPortProblem, type PortProblem } from './find-port-problem.ts';
import { lookAtWorkloads, summariesOf } from './look-at-workloads.ts';
import type { LogOptions, WorkloadRuntime } from './runtime.ts';
import { withoutEffect } from './without-effect.ts';
import { RUNNING, type WorkloadState } from './workload-state.ts';

interface WorkloadsOptions {
  resources: Resources;
  profiles: PermissionProfiles;
  runtime: WorkloadRuntime;
}

export interface LookedAt {
  resource: StoredResource;
  state: WorkloadState;
}

export type CheckedWorkload = Omit<NewWorkload, 'registry_entry' | 'name'> & {
  name: string;
  checked?: CheckedImage | undefined;
};

/** Runs before any write; covers rights that the caller may not pass on. @throws Problem */
export type Check = (wanted: Edited, before: StoredResource, place: DetailOptions) => Promise<void>;

const SERVER = 'MCPServer';
const CHANGES_PER_WORKLOAD = 500;

/** One instance per process. */
export class Workloads {
  readonly #in: WorkloadsOptions;
  /** The state that a change reads must be current when it writes. */
  readonly #changes = new Semaphore({ perKey: 1, queuePerKey: CHANGES_PER_WORKLOAD - 1 });

  constructor(options: WorkloadsOptions) {
    this.#in = options;
  }

  get apiGroup(): string {
    return this.#in.runtime.apiGroup;
  }

  /** Lists running workloads by name; with `all`, every one. @throws Problem `not_found`: no such group */
  async list({ all, group }: { all: boolean; group?: string | undefined }): Promise<WorkloadSummary[]> {
    if (group !== undefined) await this.checkGroup(group, 'not_found');
    const found = (await this.#in.resources.list(SERVER)).filter(
      ({ spec }) => group === undefined || spec.groupRef === group,
    );
    const summaries = await summariesOf(found, this.#in);
    return summaries.filter(({ status }) => all || RUNNING.has(status));
  }

  /** Returns the version of the spec, too. @throws Problem `not_found` */
  async get(name: string): Promise<{ detail: WorkloadDetail; version: string }> {
    const read = await this.#read(name);
    return { detail: renderDetail(read.resource, this.#detailOptions(read)), version: versionOf(read) };
  }

  /** @throws Problem `not_found` */
  async report(name: string): Promise<WorkloadReport> {
    const read = await this.#read(name);
    const { resource } = read;
    const { status, context } = (await lookAtWorkloads(this.#in))(resource);
    const warnings = this.warningsOf(read);
    return { name, status, status_context: context, conditions: resource.status?.conditions ?? [], ...warnings };
  }

  warningsOf(read: Read): { warnings?: string[] } {
    const warnings = withoutEffect(read.resource, this.#detailOptions(read));
    return warnings.length === 0 ? {} : { warnings };
  }

  /** Returns undefined if it can have its port, and in a cluster. */
  portProblem(name: string, spec: StoredResource['spec']): Promise<PortProblem | undefined> {
    return findPortProblem(name, spec, this.#in.runtime);
  }

  /** @throws Problem `not_found` */
  async logs(name: string, options: LogOptions): Promise<AsyncIterable<string>> {
    await this.found(name);
    return this.#in.runtime.logs(name, options);
  }

  /** @throws Problem `not_found` */
  async found(name: string): Promise<StoredResource> {
    const resource = await this.#in.resources.get(SERVER, name);
    if (!resource) throw new Problem('not_found', `there is no workload "${name}"`);
    return resource;
  }

  all(): Promise<StoredResource[]> {
    return this.#in.resources.list(SERVER);
  }

  async look(): Promise<(name: string) => LookedAt | undefined> {
    const [resources, stateOf] = await Promise.all([this.all(), lookAtWorkloads(this.#in)]);
    const known = new Map(resources.map((resource) => [resource.name, { resource, state: stateOf(resource) }]));
    return (name) => known.get(name);
  }

  /** @throws Problem */
  async checkGroup(group: string, code: 'not_found' | 'bad_request'): Promise<void> {
    if (await this.#in.resources.get('MCPGroup', group)) return;
    throw new Problem(code, `there is no group "${group}": make it first (POST /groups, or vmcp group create)`);
  }

  /** @throws Problem `already_exists`, `bad_request`, `inline_secret`, and what `check` throws */
  async create({ checked, ...sent }: CheckedWorkload, check: Check): Promise<Read> {
    const { name } = sent;
    const annotations = checked === undefined ? {} : { [CHECKED_IMAGE]: JSON.stringify(checked) };
    const empty: StoredResource = { kind: SERVER, name, labels: {}, annotations, spec: {}, version: '' };
    const detail = checked === undefined ? sent : { ...sent, image: checked.image };
    const place = this.#detailOptions({ profile: undefined });
    const edited = applyDetail(detail, empty, place);
    await check(edited, empty, place);
    return this.#exclusive(name, async () => {
      if (await this.#in.resources.get(SERVER, name))
        throw new Problem('already_exists', `there is a workload "${name}" already`);
      return this.#make(empty, edited);
    });
  }

  /** @throws Problem `not_found`, `stale`, `conflict`, `bad_request`, `inline_secret`, and what `check` throws */
  edit(name: string, sent: WorkloadEdit, check: Check, options: WriteOptions): Promise<Read> {
    return this.change(name, options, async (read) => {
      const place = this.#detailOptions(read);
      const edited = applyDetail(sent, read.resource, place);
      await check(edited, read.resource, place);
      return edited;
    });
  }

  /**
   * Retries without an expected version. `how` may return the resource itself.
   * @throws Problem `not_found`, `stale`, `busy`, `conflict`
   */
  change(
    name: string,
    { expected, force }: WriteOptions,
    how: (read: Read) => Edited | Promise<Edited>,
  ): Promise<Read> {
    const work = async (attempts: Attempts) => {
      const read = await this.#read(name);
      if (!isExpected(versionOf(read), expected)) throw stale(name);
      return this.#write(read, await how(read), { force, attempts });
    };
    return this.#exclusive(name, () => onWhatIsRead(name, expected, work));
  }

  /** @throws Problem `busy` if too many changes of the workload wait; what `work` throws */
  async #exclusive<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#changes.run({ key: name }, work);
    } catch (problem) {
      if (!(problem instanceof QueueFull)) throw problem;
      throw new Problem('busy', `"${name}" is being changed all the time: try again`, { cause: problem });
    }
  }

  /** Deletes its permission profile, too. @throws Problem `not_found`, `stale` */
  async delete(name: string, expected?: Expected): Promise<void> {
    await this.#exclusive(name, async () => {
      const read = await this.#read(name);
      if (!isExpected(versionOf(read), expected)) throw stale(name);
      await this.#in.resources.delete(
        SERVER,
        name,
        expected === undefined ? {} : { expected: [read.resource.version] },
      );
      await this.removeRest(name);
    });
  }

  /** Spares a workload that was changed or created again since the read. @throws Problem `not_found`, `stale` */
  async deleteMeant(name: string, isMeant: (resource: StoredResource) => boolean): Promise<void> {
    await this.#exclusive(name, async () => {
      const resource = await this.found(name);
      if (!isMeant(resource)) return;
      const expected = [resource.version];
      await this.#in.resources.delete(SERVER, name, { expected, identity: identityOf(resource) });
      await this.removeRest(name);
    });
  }

  /** A new profile is written after its resource, so one read before the resource was missing belongs to the former workload. */
  async removeRest(name: string): Promise<void> {
    const rest = await this.#in.profiles.versionOf(name);
    if (rest === undefined) return;
    const live = await this.#in.resources.get(SERVER, name);
    if (live === undefined || live.isBeingDeleted === true) await this.#in.profiles.remove(name, rest);
  }

  /** Creates the workload first, so that one of several concurrent creators writes. The workload waits for its profile. */
  async #make(empty: StoredResource, { profile, ...edited }: Edited): Promise<Read> {
    if (profile) await this.removeRest(empty.name);
    const resource = await this.#in.resources.create({ ...empty, ...edited });
    try {
      if (profile) await this.#in.profiles.make(resource.name, profile);
    } catch (problem) {
      // Another writer already gave the new workload another profile.
      if (isStale(problem)) return this.#read(resource.name);
      await this.#takeBack(resource);
      throw problem;
    }
    return { resource, profile };
  }

  /** Removes nothing that is already in use. */
  async #takeBack(resource: StoredResource): Promise<void> {
    const meant = { expected: [resource.version], identity: identityOf(resource) };
    await this.#in.resources.delete(SERVER, resource.name, meant).catch((problem: unknown) => {
      if (!isStale(problem)) throw problem;
    });
  }

  async #write(read: Read, { profile: wanted, ...edited }: Edited, options: WriteOptions): Promise<Read> {
    const { resource, profile, own } = read;
    const changed = await this.#in.profiles.with({ name: resource.name, own }, wanted, () =>
      this.#replace({ ...resource, ...edited }, options),
    );
    return { resource: changed, profile: wanted ?? profile };
  }

  /** Reads the current state after a lost answer before it reports a failure. */
  async #replace(wanted: StoredResource, options: WriteOptions): Promise<StoredResource> {
    try {
      return await this.#in.resources.replace(wanted, { ...options, expected: [wanted.version] });
    } catch (problem) {
      if (problemOf(problem).status < 500) throw problem;
      const live = await this.#in.resources.get(SERVER, wanted.name).catch(() => undefined);
      if (live && live.version !== wanted.version && standsIn(wanted.spec, live.spec)) return live;
      throw problem;
    }
  }

  async #read(name: string): Promise<Read> {
    const resource = await this.found(name);
    return { resource, ...(await this.#in.profiles.read(resource)) };
  }

  #detailOptions({ profile }: Pick<Read, 'profile'>): DetailOptions {
    const { host, hasPaths } = this.#in.runtime;
    return { host, hasPaths, profile };
  }
}
