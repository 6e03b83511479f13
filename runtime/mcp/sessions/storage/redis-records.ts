import type { RedisConnection } from '#runtime/storage/redis/connection';
import type { RedisScript } from '#runtime/storage/redis/script';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import * as scripts from './record-scripts.ts';
import type {
  EvictedRecord,
  NewRecord,
  NoRecord,
  Opening,
  RecordBounds,
  RecordChange,
  RecordName,
  RecordUse,
  SessionRecords,
  StoredFields,
  StoredRecord,
} from './session-records.ts';

const THERE = 1;
const STATES: Readonly<Record<number, NoRecord>> = { 0: 'missing', 2: 'ended', 3: 'foreign' };

/** Redis blocks meanwhile. */
const TOUCHED_AT_ONCE = 200;

/** Stores records of sessions in Redis, for all replicas. Each operation is one round trip. */
export class RedisRecords implements SessionRecords {
  readonly isOwn = false;
  readonly #prefix: string;
  readonly #redis: RedisConnection;

  constructor(prefix: string, redis: RedisConnection) {
    this.#prefix = prefix;
    this.#redis = redis;
  }

  get isReady(): boolean {
    return this.#redis.isReady;
  }

  get problem(): string | undefined {
    if (this.isReady) return undefined;
    return 'the Redis of sessions cannot be reached: no session can begin, and none of another replica go on';
  }

  async open({ key, owner, countedFor, fields }: NewRecord, { idle, most, safe }: RecordBounds): Promise<Opening> {
    const values = [key, owner, countedFor, whole(idle), most, whole(safe)];
    const answer = await this.#run(scripts.OPEN_RECORD, ...values, ...Object.entries(fields).flat());
    return openingOf(answer);
  }

  async load({ key, owner }: RecordName, idle: number): Promise<StoredFields | NoRecord> {
    const answer = await this.#run(scripts.LOAD_RECORD, key, owner, whole(idle));
    return typeof answer === 'number' ? stateOf(answer) : recordOf(key, answer).fields;
  }

  async write(
    { key, owner }: RecordName,
    changes: readonly RecordChange[],
    idle: number,
  ): Promise<StoredFields | NoRecord> {
    const values = changes.flatMap(({ field, replaces = '*', value = '' }) => [field, replaces, value]);
    const answer = await this.#run(scripts.WRITE_RECORD, key, owner, whole(idle), ...values);
    return typeof answer === 'number' ? stateOf(answer) : fieldsOf(answer);
  }

  async end({ key, owner }: RecordName, idle: number): Promise<void> {
    await this.#run(scripts.END_RECORD, key, owner, whole(idle));
  }

  async touch(uses: readonly RecordUse[], idle: number): Promise<(NoRecord | undefined)[]> {
    const states: (NoRecord | undefined)[] = [];
    for (let at = 0; at < uses.length; at += TOUCHED_AT_ONCE) {
      const values = uses
        .slice(at, at + TOUCHED_AT_ONCE)
        .flatMap(({ key, owner, unused }) => [key, owner, unused === undefined ? '' : Math.floor(unused)]);
      const answer = listOf(await this.#run(scripts.TOUCH_RECORDS, whole(idle), ...values));
      states.push(...answer.map((state) => STATES[Number(state)]));
    }
    return states;
  }

  async sweep(idle: number): Promise<readonly StoredRecord[]> {
    return recordsOf(await this.#run(scripts.SWEEP_RECORDS, whole(idle)));
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#redis.ask((redis) => redis.publish(channel, message));
  }

  #run(script: RedisScript, ...values: (string | number)[]): Promise<unknown> {
    return this.#redis.run(script, this.#prefix, ...values);
  }
}

/** Redis takes whole milliseconds. */
const whole = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds));

function openingOf(answer: unknown): Opening {
  if (answer === THERE) return { outcome: 'there' };
  if (typeof answer === 'number') {
    const state = stateOf(answer);
    if (state === 'missing') throw new StorageUnavailable('Redis gave an answer that is none');
    return { outcome: state };
  }
  const list = listOf(answer);
  if (list[0] === 'full') return { outcome: 'full', wait: Number(list[1]) };
  return { outcome: 'opened', evicted: list.map(evictedOf) };
}

function evictedOf(one: unknown): EvictedRecord {
  const [key, hash, unused] = listOf(one);
  return { ...recordOf(key, hash), unused: Number(unused) };
}

function stateOf(answer: number): NoRecord {
  const state = STATES[answer];
  if (state === undefined) throw new StorageUnavailable('Redis gave an answer that is none');
  return state;
}

function listOf(answer: unknown): unknown[] {
  if (!Array.isArray(answer)) throw new StorageUnavailable('Redis gave no list');
  return answer;
}

function fieldsOf(answer: unknown): Record<string, string> {
  const list = listOf(answer).map(String);
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < list.length; at += 2) fields[list[at] ?? ''] = list[at + 1] ?? '';
  return fields;
}

function recordsOf(answer: unknown): StoredRecord[] {
  return listOf(answer).map((one) => {
    const [key, hash] = listOf(one);
    return recordOf(key, hash);
  });
}

function recordOf(key: unknown, hash: unknown): StoredRecord {
  const { owner = '', ...fields } = fieldsOf(hash);
  delete fields.counted_for;
  return { key: String(key), owner, fields };
}
