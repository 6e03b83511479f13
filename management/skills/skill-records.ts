import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ApiError } from '#operator/kubernetes/api/api-error';
import { Problem, type ProblemCode } from '../problem.ts';
import { sameValue } from '../same-value.ts';
import { isStale, type Records, type RecordStore, type StoredRecord } from '../stores/record-store.ts';
import { StoredSkill } from './skills.ts';

/** Pending changes with rejected replacements: each write retries all of them, and each may be as long as a record. */
const MOST_WAITING = 8;

const Write = z.strictObject({
  key: z.string(),
  /** Absent for a new record. */
  version: z.string().optional(),
  after: StoredSkill,
});
export type Write = z.infer<typeof Write>;

/** Valid once this change is stored. */
const Change = z.strictObject({ writes: z.array(Write) });

interface OpenChange {
  id: string;
  writes: Write[];
}

interface Finished {
  /** Number of records that another writer changed later; those stay. */
  lost: number;
  /** Why new records are not kept, or replacements are still pending. */
  refusal?: Problem;
}

/**
 * The store writes one record at a time, so the change is stored first. After a crash, reads apply a stored change, and
 * the next write completes it.
 */
export class SkillRecords {
  readonly #skills: RecordStore;
  readonly #changes: RecordStore;

  constructor(records: Records) {
    this.#skills = records('skills');
    this.#changes = records('skillchanges');
  }

  /** @throws Problem `store_damaged` */
  async list(): Promise<StoredRecord[]> {
    // Changes are read first: a change stored in between is visible in the records that it has already written.
    const changes = await this.#open();
    const found = new Map((await this.#skills.list()).map((record) => [record.name, record]));
    for (const { key, version, after } of changes.flatMap(({ writes }) => writes)) {
      const live = found.get(key);
      if (live?.version === version) found.set(key, { name: key, value: after, version: version ?? '' });
    }
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Completes or reverts all pending changes. @throws Problem `store_damaged` */
  async settle(): Promise<Pick<RecordStore, 'get' | 'names' | 'delete'>> {
    for (const change of await this.#open()) await this.#finish(change);
    return this.#skills;
  }

  /**
   * Writes all or none.
   * @throws Problem `too_large`, `forbidden`, `bad_request`: the store rejects a new record, or too many changes are
   * pending; `busy`, `already_exists`, `stale`: another writer changed one
   */
  async write(writes: readonly Write[]): Promise<void> {
    const [only] = writes;
    if (only && writes.length === 1) return this.#put(only);
    await this.#checkWaiting();
    const change = { id: randomUUID(), writes: [...writes] };
    await this.#changes.create(change.id, Change.parse({ writes }));
    const { lost, refusal } = await this.#finish(change);
    if (refusal) throw refusal;
    if (lost > 0) throw new Problem('busy', 'some of the skills were changed by somebody else meanwhile: try again');
  }

  async #checkWaiting(): Promise<void> {
    const { length } = await this.#changes.names();
    if (length < MOST_WAITING) return;
    const what = `${length} changes of skills are pending, because the storage is full or a policy rejects them`;
    throw new Problem('too_large', `${what}: uninstall some skills first`);
  }

  async #open(): Promise<OpenChange[]> {
    return (await this.#changes.list()).map(({ name: id, value }) => {
      const { data } = Change.safeParse(value);
      if (data) return { id, ...data };
      throw new Problem('store_damaged', `the record of the change "${id}" of skills cannot be read: remove it`);
    });
  }

  /** Keeps no record if one is rejected: the change would stay pending forever and block uninstalling. */
  async #finish({ id, writes }: OpenChange): Promise<Finished> {
    const made = writes.filter(({ version }) => version === undefined);
    const replaced = writes.filter(({ version }) => version !== undefined);
    let lost = 0;
    for (const write of [...made, ...replaced]) {
      const put = await this.#putOf(id, write);
      if (put instanceof Problem) {
        if (write.version === undefined) await this.#takeBack(id, made);
        return { lost, refusal: put };
      }
      if (!put) lost += 1;
    }
    await this.#changes.delete(id);
    return { lost };
  }

  async #takeBack(id: string, made: readonly Write[]): Promise<void> {
    for (const { key, after } of made) {
      const live = await this.#skills.get(key);
      if (!live || !sameValue(live.value, after)) continue;
      await this.#skills.delete(key, live.version).catch((problem: unknown) => {
        if (!isStale(problem)) throw problem;
      });
    }
    await this.#changes.delete(id);
  }

  async #putOf(id: string, write: Write): Promise<boolean | Problem> {
    // If another writer finished the change, a missing record may have been uninstalled since.
    if (await this.#changes.get(id)) {
      try {
        await this.#put(write);
        return true;
      } catch (error) {
        if (isRefusal(error)) return error;
        if (!isStale(error) && !has(error, 'already_exists')) throw error;
      }
    }
    return sameValue((await this.#skills.get(write.key))?.value, write.after);
  }

  async #put({ key, version, after }: Write): Promise<void> {
    if (version === undefined) await this.#skills.create(key, after);
    else await this.#skills.replace(key, after, version);
  }
}

const has = (problem: unknown, ...codes: ProblemCode[]): problem is Problem =>
  problem instanceof Problem && codes.includes(problem.code);

/** Retries cannot solve it: store full, quota, cluster policy. An invalid request means that the stored change is damaged. */
const isRefusal = (problem: unknown): problem is Problem =>
  has(problem, 'too_large', 'forbidden') || (has(problem, 'bad_request') && problem.cause instanceof ApiError);
