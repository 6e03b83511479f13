import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { SingleFlight } from '#lib/limits/single-flight';
import { Problem, problemOf } from '../problem.ts';
import { WorkloadOperation } from '../records/workload-operation.ts';
import { isStale, type RecordStore, type StoredRecord } from '../stores/record-store.ts';
import { identityOf, type StoredResource } from '../stores/resources.ts';
import { endOfRestart } from './end-of-restart.ts';
import { restarted } from './stop-and-start.ts';
import { begunAt, operationId } from './operation-id.ts';
import type { LookedAt, Workloads } from './workloads.ts';

const { workloads: Entries, ...head } = WorkloadOperation.shape;

/** Holds each workload's identity at acceptance. Unknown fields of a newer vmcp are kept. */
const StoredWork = z.looseObject({
  ...head,
  worked_at: z.int(),
  workloads: z.array(z.looseObject({ ...Entries.element.shape, identity: z.string(), asked_at: z.int().optional() })),
});
type StoredWork = z.infer<typeof StoredWork>;
type Entry = StoredWork['workloads'][number];

interface BackgroundWorkOptions {
  records: RecordStore;
  workloads: Workloads;
  now: () => number;
  /** The text holds no secret. */
  onFailure: (text: string) => void;
  pause?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** Milliseconds without activity after which work counts as abandoned, because its process has ended. */
const ABANDONED = 30_000;
/** Milliseconds between two heartbeats of waiting work, and between two reads of the workloads. */
const [HEARTBEAT, LOOK] = [10_000, 1000];
const MOST_RUNNING = 20;
/** Seconds after which a rejected caller may retry. */
const RETRY_AFTER = '10';
const ATTEMPTS = 5;
/** Milliseconds, after a dependency does not answer. */
const [FIRST_REST, LONGEST_REST] = [2_000, 60_000];
/** Milliseconds. */
const KEPT = 24 * 3600 * 1000;

/**
 * Handles one workload after the other in recorded, idempotent steps, which another process can resume. One instance
 * per process and namespace.
 */
export class BackgroundWork {
  readonly #in: BackgroundWorkOptions;
  readonly #going = new Map<string, Promise<void>>();
  /** Ordered; at most as long as the number of records. */
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

  /** Returns the id. @throws Problem `too_many_requests`; `too_large`: too much work is stored */
  async begin(type: StoredWork['type'], resources: readonly StoredResource[]): Promise<string> {
    if (this.#going.size + this.#beginning >= MOST_RUNNING) throw tooMuch();
    this.#beginning += 1;
    try {
      return await this.#begin(type, resources);
    } finally {
      this.#beginning -= 1;
    }
  }

  async #begin(type: StoredWork['type'], resources: readonly StoredResource[]): Promise<string> {
    await this.#forgetOld();
    const { now, records } = this.#in;
    const id = operationId(now());
    const workloads = resources.map((one): Entry => ({ name: one.name, status: 'pending', identity: identityOf(one) }));
    const created_at = new Date(now()).toISOString();
    await records.create(id, ended({ id, type, status: 'running', created_at, worked_at: now(), workloads }, now()));
    this.#goOn(id);
    return id;
  }

  /** Resumes abandoned work, too. @throws Problem `not_found` */
  async get(id: string): Promise<WorkloadOperation> {
    const { value } = await this.#found(id);
    if (value.status === 'running' && this.#in.now() - value.worked_at > ABANDONED) this.#goOn(id);
    return render(value);
  }

  /** Holds one record at a time, and a damaged record does not block others. */
  async resume(): Promise<void> {
    for (const name of await this.#in.records.names()) {
      const left = await this.#found(name).catch((problem: unknown) => {
        this.#in.onFailure(`operation ${name} is not taken up: ${problemOf(problem).message}`);
      });
      if (left?.value.status === 'running') this.#goOn(name);
    }
  }

  async idle(): Promise<void> {
    while (this.#going.size > 0) await Promise.all(this.#going.values());
  }

  /** Ends after the current steps; the next process resumes the rest. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#waiting.clear();
    await this.idle();
  }

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

  /** Retries without a request while a dependency does not answer, because the work was accepted. */
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

  async #note(work: StoredWork, version: string): Promise<void> {
    const { now, records } = this.#in;
    try {
      await records.replace(work.id, ended({ ...work, worked_at: now() }, now()), version);
    } catch (problem) {
      // Another process resumed the same work; its record wins.
      if (!isStale(problem)) throw problem;
    }
  }

  async #step(work: StoredWork): Promise<Entry[] | undefined> {
    const next = work.workloads.find((one) => isPending(one) && one.asked_at === undefined);
    if (!next) return this.#look(work);
    const done = await this.#do(work, next);
    return work.workloads.map((one) => (one === next ? done : one));
  }

  async #do({ type, created_at: at }: StoredWork, entry: Entry): Promise<Entry> {
    try {
      const isDone = await STEPS[type](this.#in.workloads, entry, at);
      return isDone ? { ...entry, status: 'done' } : { ...entry, asked_at: this.#in.now() };
    } catch (error) {
      const { code, message } = problemOf(error);
      return { ...entry, status: 'failed', code, detail: message };
    }
  }

  async #look({ workloads, worked_at: workedAt }: StoredWork): Promise<Entry[] | undefined> {
    const seenOf = await this.#looks.run();
    const now = this.#in.now();
    const seen = workloads.map((one) =>
      isPending(one) ? { ...one, ...endOfRestart(one, seenOf(one.name), now) } : one,
    );
    const isNew = seen.some(({ status }, index) => status !== workloads[index]?.status);
    return isNew || now - workedAt > HEARTBEAT ? seen : undefined;
  }

  async #found(id: string): Promise<Omit<StoredRecord, 'value'> & { value: StoredWork }> {
    const record = await this.#in.records.get(id);
    if (!record) throw new Problem('not_found', `there is no operation "${id}"; an end is kept for a day`);
    const { data } = StoredWork.safeParse(record.value);
    if (!data) throw new Problem('store_damaged', `operation "${id}" is not as vmcp writes it: remove its record`);
    return { ...record, value: data };
  }

  async #forgetOld(): Promise<void> {
    const { records, now } = this.#in;
    for (const name of await records.names()) {
      if (now() - (begunAt(name) ?? 0) < KEPT) continue;
      const record = await records.get(name);
      const at = record && StoredWork.safeParse(record.value).data?.finished_at;
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

/** Resolves to true when the step is complete; otherwise its effect is awaited. */
type Step = (workloads: Workloads, entry: Entry, at: string) => Promise<boolean>;

const STEPS: Record<StoredWork['type'], Step> = {
  async delete(workloads, { name, identity }) {
    // A newer workload of the same name is left alone; a changed one is read again.
    for (let tries = 1; ; tries += 1) {
      try {
        await workloads.deleteMeant(name, (resource) => identityOf(resource) === identity);
        return true;
      } catch (problem) {
        if (isGone(problem)) {
          await workloads.removeRest(name);
          return true;
        }
        // A workload without a creation time may be another one.
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

function ended(work: StoredWork, now: number): StoredWork {
  if (work.workloads.some(isPending)) return work;
  const isDone = work.workloads.every(({ status }) => status === 'done');
  return { ...work, status: isDone ? 'succeeded' : 'failed', finished_at: new Date(now).toISOString() };
}

function render({ id, type, status, created_at, finished_at, workloads }: StoredWork): WorkloadOperation {
  const entries = workloads.map(({ name, status: how, code, detail }) => ({
    name,
    status: how,
    ...(code !== undefined && { code, detail }),
  }));
  return { id, type, status, created_at, ...(finished_at !== undefined && { finished_at }), workloads: entries };
}
