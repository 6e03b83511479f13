import { setImmediate as turn } from 'node:timers/promises';
import { openDatabase, type SqliteDatabase } from '#runtime/storage/sqlite/database';
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
import { SESSIONS } from './sqlite-schema.ts';

const STATE = 'SELECT owner, ended, ends_at FROM mcp_sessions WHERE key = ?';
const PUT = `INSERT INTO mcp_sessions (key, owner, counted_for, used, ended, ends_at) VALUES (?, ?, ?, ?, 0, ?)`;
const SIZE = 'SELECT count(*) AS size FROM mcp_sessions WHERE counted_for = ? AND ended = 0';
const IDLEST = 'SELECT key, owner, used FROM mcp_sessions WHERE counted_for = ? AND ended = 0 ORDER BY used LIMIT ?';
const FIELDS = 'SELECT field, value FROM mcp_session_fields WHERE key = ?';
const FIELD = 'SELECT value FROM mcp_session_fields WHERE key = ? AND field = ?';
const PUT_FIELD = 'INSERT OR REPLACE INTO mcp_session_fields (key, field, value) VALUES (?, ?, ?)';
const REMOVE_FIELD = 'DELETE FROM mcp_session_fields WHERE key = ? AND field = ?';
const REMOVE_FIELDS = 'DELETE FROM mcp_session_fields WHERE key = ?';
const USE = 'UPDATE mcp_sessions SET used = max(used, ?), ends_at = ? WHERE key = ?';
const LENGTHEN = 'UPDATE mcp_sessions SET ends_at = ? WHERE key = ?';
const END = `INSERT INTO mcp_sessions (key, owner, counted_for, used, ended, ends_at) VALUES (?, ?, '', 0, 1, ?)
  ON CONFLICT (key) DO UPDATE SET ended = 1, ends_at = excluded.ends_at`;
const OVER = 'SELECT key, owner FROM mcp_sessions WHERE ended = 0 AND ends_at <= ? LIMIT 100';

/** A starting runtime does not wait long for a file that it can do without. */
const ATTEMPTS = 3;

/** One write blocks the process. */
const TOUCHED_AT_ONCE = 200;

/** Stores records of sessions in a file, for one process. */
export class SqliteRecords implements SessionRecords {
  readonly isOwn = true;
  readonly isReady = true;
  readonly #database: SqliteDatabase;
  #hasFailed = false;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  get problem(): string | undefined {
    return this.#hasFailed ? 'the file of sessions cannot be written: they end when this process ends' : undefined;
  }

  open(record: NewRecord, { idle, most, safe }: RecordBounds): Promise<Opening> {
    const { key, owner, countedFor, fields } = record;
    return this.#write((now): Opening => {
      const state = this.#state(record, now);
      if (state === undefined) return { outcome: 'there' };
      if (state !== 'missing') return { outcome: state };
      const evicted = this.#evictFor(countedFor, { idle, most, safe }, now);
      if (typeof evicted === 'number') return { outcome: 'full', wait: evicted };
      this.#database.run(PUT, key, owner, countedFor, now, now + idle);
      for (const [field, value] of Object.entries(fields)) this.#database.run(PUT_FIELD, key, field, value);
      return { outcome: 'opened', evicted };
    });
  }

  load(name: RecordName, idle: number): Promise<StoredFields | NoRecord> {
    return this.#write((now) => {
      const state = this.#state(name, now);
      if (state !== undefined) return state;
      this.#database.run(USE, now, now + idle, name.key);
      return this.#fields(name.key);
    });
  }

  write(name: RecordName, changes: readonly RecordChange[], idle: number): Promise<StoredFields | NoRecord> {
    return this.#write((now) => {
      const state = this.#state(name, now);
      if (state !== undefined) return state;
      const others: Record<string, string> = {};
      for (const { field, replaces, value } of changes) {
        const stored = this.#database.row(FIELD, name.key, field)?.value;
        if (replaces !== undefined && replaces !== versionOf(stored)) others[field] = stored ? String(stored) : '';
        else if (value === undefined) this.#database.run(REMOVE_FIELD, name.key, field);
        else this.#database.run(PUT_FIELD, name.key, field, value);
      }
      this.#database.run(LENGTHEN, now + idle, name.key);
      return others;
    });
  }

  end(name: RecordName, idle: number): Promise<void> {
    return this.#write((now) => {
      if (this.#state(name, now) !== 'foreign') this.#end(name, now + idle);
    });
  }

  async touch(uses: readonly RecordUse[], idle: number): Promise<(NoRecord | undefined)[]> {
    const states: (NoRecord | undefined)[] = [];
    for (let at = 0; at < uses.length; at += TOUCHED_AT_ONCE) {
      if (at > 0) await turn();
      const some = uses.slice(at, at + TOUCHED_AT_ONCE);
      states.push(...(await this.#write((now) => some.map((use) => this.#use(use, idle, now)))));
    }
    return states;
  }

  sweep(idle: number): Promise<readonly StoredRecord[]> {
    return this.#write((now) =>
      this.#database.rows(OVER, now).map(({ key, owner }) => this.#takeOut(String(key), String(owner), now + idle)),
    );
  }

  close(): void {
    this.#database.close();
  }

  async #write<Answer>(step: (now: number) => Answer): Promise<Answer> {
    try {
      const answer = await this.#database.write(step);
      this.#hasFailed = false;
      return answer;
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
  }

  #state({ key, owner }: RecordName, now: number): NoRecord | undefined {
    const row = this.#database.row(STATE, key);
    if (row === undefined) return 'missing';
    if (row.ended === 1) return 'ended';
    if (row.owner !== owner) return 'foreign';
    return Number(row.ends_at) <= now ? 'ended' : undefined;
  }

  #use(use: RecordUse, idle: number, now: number): NoRecord | undefined {
    const state = this.#state(use, now);
    if (state !== undefined) return state;
    if (use.unused === undefined) this.#database.run(LENGTHEN, now + idle, use.key);
    else this.#database.run(USE, now - use.unused, now + idle, use.key);
    return undefined;
  }

  /** @returns the evicted records, or the milliseconds until one can be evicted */
  #evictFor(countedFor: string, { idle, most, safe }: RecordBounds, now: number): EvictedRecord[] | number {
    const excess = Number(this.#database.row(SIZE, countedFor)?.size) - most + 1;
    if (excess <= 0) return [];
    const idlest = this.#database.rows(IDLEST, countedFor, excess);
    const wait = Number(idlest[0]?.used) + safe - now;
    if (wait > 0) return wait;
    return idlest
      .filter(({ used }) => now - Number(used) >= safe)
      .map(({ key, owner, used }) => ({
        ...this.#takeOut(String(key), String(owner), now + idle),
        unused: now - Number(used),
      }));
  }

  #takeOut(key: string, owner: string, knownUntil: number): StoredRecord {
    const record = { key, owner, fields: this.#fields(key) };
    this.#end(record, knownUntil);
    return record;
  }

  #end({ key, owner }: RecordName, knownUntil: number): void {
    this.#database.run(REMOVE_FIELDS, key);
    this.#database.run(END, key, owner, knownUntil);
  }

  #fields(key: string): StoredFields {
    return Object.fromEntries(
      this.#database.rows(FIELDS, key).map(({ field, value }) => [String(field), String(value)]),
    );
  }
}

function versionOf(stored: unknown): number {
  return typeof stored === 'string' ? Number.parseInt(stored, 10) : 0;
}

/** Opens or creates the file. @throws ConfigError if it cannot be used, is locked, or another release or program made it */
export async function openSqliteRecords(file: string, now: () => number): Promise<SqliteRecords> {
  return new SqliteRecords(await openDatabase(file, SESSIONS, { now, attempts: ATTEMPTS }));
}
