import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ApiError } from '#operator/kubernetes/api/api-error';
import { Problem, type ProblemCode } from '../problem.ts';
import { sameValue } from '../same-value.ts';
import { isStale, type Records, type RecordStore, type StoredRecord } from '../stores/record-store.ts';
import { StoredSkill } from './skills.ts';

/** Changes that wait, as what they replace is refused: all are tried again by who writes next, and each may have a record's length. */
const MOST_WAITING = 8;

/** A record as it is to be. */
const Write = z.strictObject({
  key: z.string(),
  /** Of what it replaces; absent where there is nothing of this name. */
  version: z.string().optional(),
  after: StoredSkill,
});
export type Write = z.infer<typeof Write>;

/** Records that are written together. They count from the moment that this is stored. */
const Change = z.strictObject({ writes: z.array(Write) });

interface OpenChange {
  id: string;
  writes: Write[];
}

interface Finished {
  /** How many were written by somebody else, as something else: that came later, and stays. */
  lost: number;
  /** Why new ones are not kept, or others are not written yet. */
  refusal?: Problem;
}

/**
 * Records of skills, of which several are written together: a store writes one at a time, so what is to be written is stored first. Whoever
 * is killed has written all of them or none; what it left is read as it is to be, and is written by who changes something next.
 */
export class SkillRecords {
  readonly #skills: RecordStore;
  readonly #changes: RecordStore;

  constructor(records: Records) {
    this.#skills = records('skills');
    this.#changes = records('skillchanges');
  }

  /** By name. @throws Problem `store_damaged` */
  async list(): Promise<StoredRecord[]> {
    // In this order: a change that comes in between is read from the records, at least those of it that are written.
    const changes = await this.#open();
    const found = new Map((await this.#skills.list()).map((record) => [record.name, record]));
    for (const { key, version, after } of changes.flatMap(({ writes }) => writes)) {
      const live = found.get(key);
      if (live?.version === version) found.set(key, { name: key, value: after, version: version ?? '' });
    }
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** What is stored, for who is to write it: everything that was left is written by then, or taken back. @throws Problem `store_damaged` */
  async settle(): Promise<Pick<RecordStore, 'get' | 'names' | 'delete'>> {
    for (const change of await this.#open()) await this.#finish(change);
    return this.#skills;
  }

  /** All or none. @throws Problem `too_large`: too many changes wait; that, `forbidden`, `bad_request`: a new one is refused; `busy`, `already_exists`, `stale`: somebody else has written one of them meanwhile */
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
    const what = `${length} changes of skills wait to be written, as there is no room for them or a policy is against it`;
    throw new Problem('too_large', `${what}: take some skills away first`);
  }

  async #open(): Promise<OpenChange[]> {
    return (await this.#changes.list()).map(({ name: id, value }) => {
      const { data } = Change.safeParse(value);
      if (data) return { id, ...data };
      throw new Problem('store_damaged', `the record of the change "${id}" of skills cannot be read: remove it`);
    });
  }

  /**
   * New ones come first: where one is refused, none is kept. Else the change would stand for ever, and nobody could uninstall anything to
   * make room.
   */
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

  /** Whether the record is as it is to be, or why it is refused. */
  async #putOf(id: string, write: Write): Promise<boolean | Problem> {
    // Where somebody else has finished the change, what is missing may have been uninstalled since.
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

/**
 * The store has no room for it, nor has a quota, or a policy of the cluster is against it: trying again does not help until somebody mends
 * that. A store that is asked for what cannot be, as by a name that is none, refuses nothing: what was stored of the change is damaged.
 */
const isRefusal = (problem: unknown): problem is Problem =>
  has(problem, 'too_large', 'forbidden') || (has(problem, 'bad_request') && problem.cause instanceof ApiError);
