import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { SingleFlight } from '#lib/limits/single-flight';
import { Problem, problemOf } from '../problem.ts';
import { WorkloadOperation } from '../records/workload-operation.ts';
import type { RecordStore, StoredRecord } from '../stores/record-store.ts';
import { identityOf, type StoredResource } from '../stores/resources.ts';
import { endOfRestart } from './end-of-restart.ts';
import { begunAt, operationId } from './operation-id.ts';
import { restarted } from './stop-and-start.ts';
import type { LookedAt, Workloads } from './workloads.ts';
import { isStale } from '../stores/record-store.ts';

const { workloads: Entries, ...head } = WorkloadOperation.shape;

/**
 * Work as it is kept: what was meant by each name when it was accepted, since when its end is awaited, and when somebody worked last.
 * What a newer vmcp has beside that stays.
 */
const Kept = z.looseObject({
  ...head,
  worked_at: z.int(),
  workloads: z.array(z.looseObject({ ...Entries.element.shape, identity: z.string(), asked_at: z.int().optional() })),
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
  /** Waits, no longer than its signal lasts. Milliseconds. */
  pause?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** Work that nobody touched for so long is nobody's: its process has ended. Milliseconds. */
const ABANDONED = 30_000;
/** Milliseconds between two heartbeats of waiting work, and between two looks at the workloads. */
const [HEARTBEAT, LOOK] = [10_000, 1000];
/** Work that may go on at once, of one namespace in one process. */
const MOST_RUNNING = 20;
/** Seconds after which whoever was refused may ask again. */
const RETRY_AFTER = '10';
/** How often a change in between is followed by a new attempt. */
const ATTEMPTS = 5;
/** How long work rests where what it needs does not answer: at first, and at most. Milliseconds. */
const [FIRST_REST, LONGEST_REST] = [2_000, 60_000];
/** Milliseconds for which ended work is kept. */
const KEPT = 24 * 3600 * 1000;

/**
 * Deletions and restarts of many workloads, one after the other; a restart has ended when it has been carried out. Each step can be done
 * twice, and is noted when it is done; so who is killed leaves nothing that cannot be taken up again, and no workload is ever half deleted.
 * One instance for a process and namespace.
 */
export class BackgroundWork {
  readonly #in: BackgroundWorkOptions;
  readonly #going = new Map<string, Promise<void>>();
  /** What is taken up and has no room yet, in the order of taking up; no more than there are records. */
  readonly #waiting = new Set<string>();
  readonly #closing = new AbortController();
  readonly #looks: SingleFlight<(name: string) => LookedAt | undefined>;
  #beginning = 0;

  constructor(options: BackgroundWorkOptions) {
    this.#in = options;
    const { now, workloads, pause = wait } = options;
    this.#looks = new SingleFlight(() => workloads.look(), {
      interval: LOOK,
      now,
      pause: (milliseconds) => pause(milliseconds, this.#closing.signal),
    });
  }

  /** Returns the id of what was begun. @throws Problem `too_many_requests`; `too_large`: too much is kept already */
  async begin(type: Kept['type'], resources: readonly StoredResource[]): Promise<string> {
    if (this.#going.size + this.#beginning >= MOST_RUNNING) throw tooMuch();
    this.#beginning += 1;
    try {
      return await this.#begin(type, resources);
    } finally {
      this.#beginning -= 1;
    }
  }

  async #begin(type: Kept['type'], resources: readonly StoredResource[]): Promise<string> {
    await this.#forgetOld();
    const { now, records } = this.#in;
    const id = operationId(now());
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

  /** Takes up all that a process that has ended had not done. One record is held at a time, and a damaged one stands in no other's way. */
  async resume(): Promise<void> {
    for (const name of await this.#in.records.names()) {
      const left = await this.#found(name).catch((problem: unknown) => {
        this.#in.onFailure(`operation ${name} is not taken up: ${problemOf(problem).message}`);
      });
      if (left?.value.status === 'running') this.#goOn(name);
    }
  }

  /** Resolves when nothing is worked on any more. */
  async idle(): Promise<void> {
    while (this.#going.size > 0) await Promise.all(this.#going.values());
  }

  /** Ends after the steps that are being done; what is left is taken up by the next process. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#waiting.clear();
    await this.idle();
  }

  /** One more than there is room for waits until another one has ended. */
  #goOn(id: string): void {
    if (this.#going.has(id) || this.#closing.signal.aborted) return;
    if (this.#going.size >= MOST_RUNNING) {
      this.#waiting.add(id);
      return;
    }
    const going = this.#workUntilAnswered(id)
      .catch((problem: unknown) => {
        const { message } = problemOf(problem);
        this.#in.onFailure(`operation ${id} does not go on until somebody asks for it: ${message}`);
      })
      .finally(() => {
        this.#going.delete(id);
        this.#goOnWithNext();
      });
    this.#going.set(id, going);
  }

  #goOnWithNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.#goOn(next);
  }

  /** What does not answer now may do so later: nobody need ask for what was promised. */
  async #workUntilAnswered(id: string): Promise<void> {
    const { onFailure, pause = wait } = this.#in;
    const { signal } = this.#closing;
    for (let rest = FIRST_REST; !signal.aborted; rest = Math.min(2 * rest, LONGEST_REST)) {
      try {
        await this.#work(id);
        return;
      } catch (problem) {
        const { code, message } = problemOf(problem);
        if (code !== 'unavailable') throw problem;
        onFailure(`operation ${id} goes on in ${rest / 1000} seconds: ${message}`);
        await pause(rest, signal);
      }
    }
  }

  async #work(id: string): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const { value, version } = await this.#found(id);
      if (value.status !== 'running' || !value.workloads.some(isPending)) return;
      const workloads = await this.#step(value);
      if (workloads) await this.#note({ ...value, workloads }, version);
    }
  }

  async #note(work: Kept, version: string): Promise<void> {
    const { now, records } = this.#in;
    try {
      await records.replace(work.id, ended({ ...work, worked_at: now() }, now()), version);
    } catch (problem) {
      // Another process took it up, too: what it noted counts.
      if (!isStale(problem)) throw problem;
    }
  }

  /** How far each is after the next step; undefined where there is nothing to note. */
  async #step(work: Kept): Promise<Entry[] | undefined> {
    const next = work.workloads.find((one) => isPending(one) && one.asked_at === undefined);
    if (!next) return this.#look(work);
    const done = await this.#do(work, next);
    return work.workloads.map((one) => (one === next ? done : one));
  }

  async #do({ type, created_at: at }: Kept, entry: Entry): Promise<Entry> {
    try {
      const isDone = await STEPS[type](this.#in.workloads, entry, at);
      return isDone ? { ...entry, status: 'done' } : { ...entry, asked_at: this.#in.now() };
    } catch (error) {
      const { code, message } = problemOf(error);
      return { ...entry, status: 'failed', code, detail: message };
    }
  }

  /** What became of those that were asked to start anew. */
  async #look({ workloads, worked_at: workedAt }: Kept): Promise<Entry[] | undefined> {
    const seenOf = await this.#looks.run();
    const now = this.#in.now();
    const seen = workloads.map((one) =>
      isPending(one) ? { ...one, ...endOfRestart(one, seenOf(one.name), now) } : one,
    );
    const isNew = seen.some(({ status }, index) => status !== workloads[index]?.status);
    return isNew || now - workedAt > HEARTBEAT ? seen : undefined;
  }

  async #found(id: string): Promise<Omit<StoredRecord, 'value'> & { value: Kept }> {
    const record = await this.#in.records.get(id);
    if (!record) throw new Problem('not_found', `there is no operation "${id}"; an end is kept for a day`);
    const { data } = Kept.safeParse(record.value);
    if (!data) throw new Problem('store_damaged', `operation "${id}" is not as vmcp writes it: remove its record`);
    return { ...record, value: data };
  }

  /** No record is read that cannot be old. */
  async #forgetOld(): Promise<void> {
    const { records, now } = this.#in;
    for (const name of await records.names()) {
      if (now() - (begunAt(name) ?? 0) < KEPT) continue;
      const record = await records.get(name);
      const at = record && Kept.safeParse(record.value).data?.finished_at;
      if (at === undefined || now() - Date.parse(at) < KEPT) continue;
      await records.delete(name, record?.version).catch((problem: unknown) => {
        if (!isStale(problem)) throw problem;
      });
    }
  }
}

function tooMuch(): Problem {
  const detail = `${MOST_RUNNING} operations of this namespace go on already: wait until one has ended`;
  return new Problem('too_many_requests', detail, { headers: { 'Retry-After': RETRY_AFTER } });
}

const isGone = (problem: unknown): boolean => problem instanceof Problem && problem.code === 'not_found';

const isPending = ({ status }: Entry): boolean => status === 'pending';

async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}

/** Resolves to whether that was all; else its effect is awaited. */
type Step = (workloads: Workloads, entry: Entry, at: string) => Promise<boolean>;

const STEPS: Record<Kept['type'], Step> = {
  async delete(workloads, { name, identity }) {
    // Another workload of the same name that was made since is not meant; one that changed is looked at again.
    for (let tries = 1; ; tries += 1) {
      try {
        await workloads.deleteMeant(name, (resource) => identityOf(resource) === identity);
        return true;
      } catch (problem) {
        if (isGone(problem)) {
          await workloads.removeRest(name);
          return true;
        }
        // What says nothing of when it was made may be another one by now.
        if (tries === ATTEMPTS || identity === '' || !isStale(problem)) throw problem;
      }
    }
  },
  async restart(workloads, { name, identity }, at) {
    await workloads.change(name, {}, ({ resource }) =>
      identityOf(resource) === identity ? restarted(resource, at, workloads.apiGroup) : resource,
    );
    return false;
  },
};

/** Work whose last step is done has ended. */
function ended(work: Kept, now: number): Kept {
  if (work.workloads.some(isPending)) return work;
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
