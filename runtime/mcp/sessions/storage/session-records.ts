import type { RedisConnection } from '#runtime/storage/redis/connection';
import type { RedisScript } from '#runtime/storage/redis/script';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import * as scripts from './record-scripts.ts';

/** Under what a session is stored. Neither says who or what it is. */
export interface RecordName {
  /** Hash of the session's id. */
  readonly key: string;
  /** Hash of its principal. */
  readonly owner: string;
}

/** By name, as they are stored: `version sealed`. */
export type StoredFields = Readonly<Record<string, string>>;

export interface StoredRecord extends RecordName {
  readonly fields: StoredFields;
}

export interface RecordChange {
  readonly field: string;
  /** The version that it replaces; undefined: whichever is there. */
  readonly replaces: number | undefined;
  /** undefined: the field goes. */
  readonly value: string | undefined;
}

/** What became of a record that was asked for. `ended` is also one whose time is over; `foreign`: it is another principal's. */
export type NoRecord = 'missing' | 'ended' | 'foreign';

const STATES: Readonly<Record<number, NoRecord>> = { 0: 'missing', 2: 'ended', 3: 'foreign' };

/** Records that are touched with one question: Redis does nothing else meanwhile. */
const TOUCHED_AT_ONCE = 200;

/** The records of sessions in Redis. Each operation is one round trip, and rejects with StorageUnavailable where nobody can tell. */
export class SessionRecords {
  readonly #prefix: string;
  readonly #redis: RedisConnection;

  constructor(prefix: string, redis: RedisConnection) {
    this.#prefix = prefix;
    this.#redis = redis;
  }

  get isReady(): boolean {
    return this.#redis.isReady;
  }

  /**
   * A new one. @returns those of the same owner that had to make room, the one idle for longest first; `there`: it is there already
   * @param idle milliseconds
   */
  async open(
    { key, owner, fields }: StoredRecord,
    { idle, most }: { readonly idle: number; readonly most: number },
  ): Promise<readonly StoredRecord[] | NoRecord | 'there'> {
    const answer = await this.#run(
      scripts.OPEN_RECORD,
      key,
      owner,
      whole(idle),
      most,
      ...Object.entries(fields).flat(),
    );
    if (answer === 1) return 'there';
    return typeof answer === 'number' ? stateOf(answer) : recordsOf(answer);
  }

  /** It was used: its time begins anew. */
  async load({ key, owner }: RecordName, idle: number): Promise<StoredFields | NoRecord> {
    const answer = await this.#run(scripts.LOAD_RECORD, key, owner, whole(idle));
    return typeof answer === 'number' ? stateOf(answer) : fieldsOf(answer);
  }

  /** @returns what stands where another version was stored; empty: it was written in full */
  async write(
    { key, owner }: RecordName,
    changes: readonly RecordChange[],
    idle: number,
  ): Promise<StoredFields | NoRecord> {
    const values = changes.flatMap(({ field, replaces = '*', value = '' }) => [field, replaces, value]);
    const answer = await this.#run(scripts.WRITE_RECORD, key, owner, whole(idle), ...values);
    return typeof answer === 'number' ? stateOf(answer) : fieldsOf(answer);
  }

  /** It is known as ended for as long as it might have been idle. */
  async end({ key, owner }: RecordName, idle: number): Promise<void> {
    await this.#run(scripts.END_RECORD, key, owner, whole(idle));
  }

  /** They were used. @returns for each what became of it; undefined: it is there */
  async touch(names: readonly RecordName[], idle: number): Promise<(NoRecord | undefined)[]> {
    const states: (NoRecord | undefined)[] = [];
    for (let at = 0; at < names.length; at += TOUCHED_AT_ONCE) {
      const values = names.slice(at, at + TOUCHED_AT_ONCE).flatMap(({ key, owner }) => [key, owner]);
      const answer = listOf(await this.#run(scripts.TOUCH_RECORDS, whole(idle), ...values));
      states.push(...answer.map((state) => STATES[Number(state)]));
    }
    return states;
  }

  /** Ends at most 100 sessions whose time is over; each is told to one replica only. */
  async sweep(idle: number): Promise<readonly StoredRecord[]> {
    return recordsOf(await this.#run(scripts.SWEEP_RECORDS, whole(idle)));
  }

  /** Says something to all replicas. */
  async publish(channel: string, message: string): Promise<void> {
    await this.#redis.ask((redis) => redis.publish(channel, message));
  }

  #run(script: RedisScript, ...values: (string | number)[]): Promise<unknown> {
    return this.#redis.run(script, this.#prefix, ...values);
  }
}

/** Redis takes whole milliseconds. */
const whole = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds));

function stateOf(answer: number): NoRecord {
  const state = STATES[answer];
  if (state === undefined) throw new StorageUnavailable('Redis gave an answer that is none');
  return state;
}

function listOf(answer: unknown): unknown[] {
  if (!Array.isArray(answer)) throw new StorageUnavailable('Redis gave no list');
  return answer;
}

/** A script gives a hash as a list of names and values. */
function fieldsOf(answer: unknown): StoredFields {
  const list = listOf(answer).map(String);
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < list.length; at += 2) fields[list[at] ?? ''] = list[at + 1] ?? '';
  return fields;
}

function recordsOf(answer: unknown): StoredRecord[] {
  return listOf(answer).map((one) => {
    const [key, hash] = listOf(one);
    const { owner = '', ...fields } = fieldsOf(hash);
    return { key: String(key), owner, fields };
  });
}
