import { rm } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isRunning, ProcessIdentity, startOf } from '#local/process-identity';
import { readIfThere, replaceFile } from '#lib/files/write-file';
import { Problem } from '../problem.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { discardPrepared, placePrepared, prepareFolder, removeFolder } from './place-folder.ts';
import { StoredSkill } from './skills.ts';

const Change = z.strictObject({
  key: z.string(),
  /** Staging folder; absent for a removal. */
  source: z.string().optional(),
  place: z.array(z.string()),
  remove: z.array(z.string()),
  after: StoredSkill.optional(),
});
export type Change = z.infer<typeof Change>;

const Work = z.strictObject({
  id: z.string(),
  owner: ProcessIdentity,
  /** `preparing` has changed nothing yet; `finishing` will be completed. */
  phase: z.enum(['preparing', 'finishing']),
  changes: z.array(Change),
});
type Work = z.infer<typeof Work>;

/**
 * Copies everything beside the targets first, then moves it. After a crash the next caller reverts or completes it.
 * Requires the lock of the skills.
 */
export class Journal {
  readonly #path: string;
  readonly #records: RecordStore;

  constructor(path: string, records: RecordStore) {
    this.#path = path;
    this.#records = records;
  }

  /** Sets `isAbandoned` when their process was killed. @throws Problem `store_damaged` */
  inFlight(): { changes: readonly Change[]; isAbandoned: boolean } | undefined {
    const work = this.#read();
    return work && { changes: work.changes, isAbandoned: !isRunning(work.owner) };
  }

  async run(id: string, changes: Change[]): Promise<void> {
    const owner = { pid: process.pid, started: startOf(process.pid) ?? '' };
    const work: Work = { id, owner, phase: 'preparing', changes };
    this.#write(work);
    try {
      for (const { source, place } of changes)
        if (source !== undefined) for (const target of place) await prepareFolder(source, target, id);
    } catch (error) {
      await this.#discard(work);
      throw error;
    }
    this.#write({ ...work, phase: 'finishing' });
    await this.#finish(work);
  }

  /** @throws Problem `store_damaged` */
  async recover(): Promise<void> {
    const work = this.#read();
    if (work?.phase === 'preparing') await this.#discard(work);
    if (work?.phase === 'finishing') await this.#finish(work);
  }

  async #discard({ id, changes }: Work): Promise<void> {
    for (const { place } of changes) for (const target of place) await discardPrepared(target, id);
    await rm(this.#path, { force: true });
  }

  async #finish({ id, changes }: Work): Promise<void> {
    for (const { key, place, remove, after } of changes) {
      for (const target of remove) await removeFolder(target, id);
      for (const target of place) await placePrepared(target, id);
      await this.#record(key, after);
    }
    await rm(this.#path, { force: true });
  }

  async #record(key: string, after: StoredSkill | undefined): Promise<void> {
    const live = await this.#records.get(key);
    if (after === undefined) await this.#records.delete(key);
    else if (live === undefined) await this.#records.create(key, after);
    else if (!isDeepStrictEqual(live.value, after)) await this.#records.replace(key, after, live.version);
  }

  #read(): Work | undefined {
    const text = readIfThere(this.#path);
    if (text === undefined) return undefined;
    try {
      return Work.parse(JSON.parse(text));
    } catch (cause) {
      const remedy = 'remove it, and install again what was installed last';
      throw new Problem('store_damaged', `${this.#path} cannot be read: ${remedy}`, { cause });
    }
  }

  #write(work: Work): void {
    replaceFile(this.#path, `${JSON.stringify(work)}\n`);
  }
}
