import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Problem, problemOf } from '../problem.ts';
import { WorkloadOperation } from '../records/workload-operation.ts';
import type { RecordStore, StoredRecord } from '../stores/record-store.ts';
import { identityOf, type StoredResource } from '../stores/resources.ts';
import { restarted } from './stop-and-start.ts';
import type { Workloads } from './workloads.ts';
import { isStale } from './workload-version.ts';

const { workloads: Entries, ...head } = WorkloadOperation.shape;

/** Work as it is kept: what was meant by each name when it was accepted, and when somebody worked on it last. */
const Kept = z.strictObject({
  ...head,
  worked_at: z.int(),
  workloads: z.array(z.strictObject({ ...Entries.element.shape, identity: z.string() })),
});
type Kept = z.infer<typeof Kept>;
type Entry = Kept['workloads'][number];

interface BackgroundWorkOptions {
  records: RecordStore;
  workloads: Workloads;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Told of what keeps work from going on; holds no secret. */
  onFailure: (text: string) => void;
}

/** Work that nobody touched for so long is nobody's: its process has ended. Milliseconds. */
const ABANDONED = 30_000;
/** How often a change in between is followed by a new attempt. */
const ATTEMPTS = 5;
/** Milliseconds for which ended work is kept. */
const KEPT = 24 * 3600 * 1000;

/**
 * Deletions and restarts of many workloads, one after the other. Each step can be done twice, and is noted when it is done; so who is
 * killed leaves nothing that cannot be taken up again, and no workload is ever half deleted. One instance for a process and namespace.
 */
export class BackgroundWork {
  readonly #in: BackgroundWorkOptions;
  readonly #going = new Map<string, Promise<void>>();
  #isClosed = false;

  constructor(options: BackgroundWorkOptions) {
    this.#in = options;
  }

  /** Returns the id of what was begun. @throws Problem `too_large`: too much is kept already */
  async begin(type: Kept['type'], resources: readonly StoredResource[]): Promise<string> {
    await this.#forgetOld();
    const { now, records } = this.#in;
    const id = randomUUID();
    const workloads = resources.map((one): Entry => ({ name: one.name, status: 'pending', identity: identityOf(one) }));
    const created_at = new Date(now()).toISOString();
    await records.create(id, ended({ id, type, status: 'running', created_at, worked_at: now(), workloads }, now()));
    this.#goOn(id);
    return id;
  }

  /** How far it is. What its process left is taken up again. @throws Problem `not_found` */
  async get(id: string): Promise<WorkloadOperation> {
    const { value } = await this.#found(id);
    if (value.status === 'running' && this.#in.now() - value.worked_at > ABANDONED) this.#goOn(id);
    return render(value);
  }

  /** Takes up all that a process that has ended had not done. */
  async resume(): Promise<void> {
    for (const { name, value } of await this.#in.records.list())
      if (Kept.safeParse(value).data?.status === 'running') this.#goOn(name);
  }

  /** Resolves when nothing is worked on any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#going.values());
  }

  /** Ends after the steps that are being done; what is left is taken up by the next process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.idle();
  }

  #goOn(id: string): void {
    if (this.#going.has(id) || this.#isClosed) return;
    const going = this.#work(id)
      .catch((problem: unknown) => {
        const { message } = problemOf(problem);
        this.#in.onFailure(`operation ${id} does not go on until somebody asks for it: ${message}`);
      })
      .finally(() => void this.#going.delete(id));
    this.#going.set(id, going);
  }

  async #work(id: string): Promise<void> {
    while (!this.#isClosed) {
      const { value, version } = await this.#found(id);
      const next = value.workloads.find(({ status }) => status === 'pending');
      if (value.status !== 'running' || !next) return;
      const done = await this.#do(value, next);
      const workloads = value.workloads.map((one) => (one === next ? done : one));
      const { now, records } = this.#in;
      try {
        await records.replace(id, ended({ ...value, workloads, worked_at: now() }, now()), version);
      } catch (problem) {
        // Another process took it up, too: what it noted counts.
        if (!isStale(problem)) throw problem;
      }
    }
  }

  async #do({ type, created_at: at }: Kept, entry: Entry): Promise<Entry> {
    try {
      await STEPS[type](this.#in.workloads, entry, at);
      return { ...entry, status: 'done' };
    } catch (error) {
      const { code, message } = problemOf(error);
      return { ...entry, status: 'failed', code, detail: message };
    }
  }

  async #found(id: string): Promise<Omit<StoredRecord, 'value'> & { value: Kept }> {
    const record = await this.#in.records.get(id);
    if (!record) throw new Problem('not_found', `there is no operation "${id}"; an end is kept for a day`);
    const { data } = Kept.safeParse(record.value);
    if (!data) throw new Problem('store_damaged', `operation "${id}" is not as vmcp writes it: remove its record`);
    return { ...record, value: data };
  }

  async #forgetOld(): Promise<void> {
    const { records, now } = this.#in;
    for (const { name, value, version } of await records.list()) {
      const at = Kept.safeParse(value).data?.finished_at;
      if (at === undefined || now() - Date.parse(at) < KEPT) continue;
      await records.delete(name, version).catch((problem: unknown) => {
        if (!isStale(problem)) throw problem;
      });
    }
  }
}

const isGone = (problem: unknown): boolean => problem instanceof Problem && problem.code === 'not_found';

type Step = (workloads: Workloads, entry: Entry, at: string) => Promise<void>;

const STEPS: Record<Kept['type'], Step> = {
  async delete(workloads, { name, identity }) {
    // Another workload of the same name that was made since is not meant; one that changed is looked at again.
    for (let tries = 1; ; tries += 1) {
      try {
        await workloads.deleteMeant(name, (resource) => identityOf(resource) === identity);
        return;
      } catch (problem) {
        if (isGone(problem)) {
          await workloads.removeRest(name);
          return;
        }
        // What says nothing of when it was made may be another one by now.
        if (tries === ATTEMPTS || identity === '' || !isStale(problem)) throw problem;
      }
    }
  },
  async restart(workloads, { name, identity }, at) {
    await workloads.change(name, {}, ({ resource }) =>
      identityOf(resource) === identity ? restarted(resource, at) : resource,
    );
  },
};

/** Work whose last step is done has ended. */
function ended(work: Kept, now: number): Kept {
  if (work.workloads.some(({ status }) => status === 'pending')) return work;
  const isDone = work.workloads.every(({ status }) => status === 'done');
  return { ...work, status: isDone ? 'succeeded' : 'failed', finished_at: new Date(now).toISOString() };
}

function render({ id, type, status, created_at, finished_at, workloads }: Kept): WorkloadOperation {
  const entries = workloads.map(({ name, status: how, code, detail }) => ({
    name,
    status: how,
    ...(code !== undefined && { code, detail }),
  }));
  return { id, type, status, created_at, ...(finished_at !== undefined && { finished_at }), workloads: entries };
}
