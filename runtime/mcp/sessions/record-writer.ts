import { RequestError } from '#runtime/errors';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Identity } from '#runtime/incoming/identity';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import type { Log } from '#runtime/telemetry/log';
import { endBackendSessionsOf } from './end-backend-sessions.ts';
import { type Eviction, evictionReason, tooManySessions } from './evict-session.ts';
import { sha256, type RecordSeal } from './record-seal.ts';
import type { ReplicaEvent } from './replica-events.ts';
import { fieldsOfSession, readBackendSession, readProfile, type SessionField } from './session-record.ts';
import { storedSessionLogId } from './session-log-id.ts';
import type { SessionLimits } from './session-limits.ts';
import { openFields, sealChanges, takeField, type SharedSession } from './shared-session.ts';
import type { ClientProfile, Session, SessionOwner } from './session.ts';
import type { EvictedRecord, NoRecord, SessionRecords, StoredFields, StoredRecord } from './storage/session-records.ts';

export interface SessionTable {
  readonly limits: SessionLimits;
  get(id: string): Session | undefined;
  /** @throws RequestError if no session can be evicted for it */
  adopt(id: string, owner: SessionOwner, profile: ClientProfile, openedAt: number): Session;
  forget(session: Session): void;
  countOf(countedFor: string): number;
}

export interface RecordWriterDeps {
  readonly records: SessionRecords;
  readonly seal: RecordSeal;
  readonly table: SessionTable;
  readonly backends: () => BackendSet;
  /** Returns whether that succeeded. */
  readonly tell: (event: ReplicaEvent) => Promise<boolean>;
  readonly evicted: (eviction: Eviction) => void;
  /** Called for each record that this process ended. @returns its session, if known here */
  readonly ended: (key: string) => Session | undefined;
  readonly log: Log;
}

/** Writes the records of sessions, and publishes each change to the other replicas. */
export class RecordWriter {
  readonly #deps: RecordWriterDeps;

  constructor(deps: RecordWriterDeps) {
    this.#deps = deps;
  }

  /** If the store is unreachable, fields are written later. @returns the backend sessions that other replicas wrote first */
  async write(shared: SharedSession, fields: readonly SessionField[]): Promise<StoredFields> {
    const { records, tell, seal, backends, table } = this.#deps;
    const changes = sealChanges(shared, fields, seal);
    try {
      const answer = await records.write(shared.name, changes, table.limits.idle);
      if (typeof answer === 'string') {
        await this.settle(shared, answer);
        return {};
      }
      const written = changes.filter(({ field }) => !(field in answer));
      for (const { field, replaces } of written) if (replaces !== undefined) shared.versions.set(field, replaces + 1);
      for (const field of openFields(shared.name, answer, seal)) takeField(shared, field, backends());
      const changed = Object.fromEntries(written.map(({ field, value = '' }) => [field, value]));
      if (written.length > 0) void tell({ type: 'changed', key: shared.name.key, fields: changed });
      return answer;
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      shared.isUnwritten = true;
      return {};
    }
  }

  async writeAll(shared: SharedSession): Promise<void> {
    shared.isUnwritten = false;
    await this.write(shared, fieldsOfSession(shared.session, shared.openedAt));
  }

  async settle(shared: SharedSession, state: NoRecord | undefined): Promise<void> {
    if (state === undefined) return;
    if (state !== 'missing') {
      this.#deps.table.forget(shared.session);
      return;
    }
    try {
      shared.versions.clear();
      await this.#open(shared, ANONYMOUS, Number.MAX_SAFE_INTEGER);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      shared.isUnwritten = true;
    }
  }

  /** `identity`: to end backend sessions of an evicted session. @throws StorageUnavailable, RequestError if none can be evicted */
  open(shared: SharedSession, identity: Identity): Promise<void> {
    return this.#open(shared, identity, this.#deps.table.limits.perPrincipal);
  }

  async #open(shared: SharedSession, identity: Identity, most: number): Promise<void> {
    const { records, seal, table } = this.#deps;
    const { session, name } = shared;
    const changes = sealChanges(shared, fieldsOfSession(session, shared.openedAt), seal);
    const fields = Object.fromEntries(changes.map(({ field, value = '' }) => [field, value]));
    const { idle, evictableAfter: safe } = table.limits;
    const record = { ...name, countedFor: sha256(session.countedFor), fields };
    const answer = await records.open(record, { idle, most, safe });
    if (answer.outcome === 'full') throw tooManySessions(answer.wait);
    // This replica reads the other's record at the next use.
    if (answer.outcome === 'there') shared.subscribedIn = -1;
    else if (answer.outcome !== 'opened') table.forget(session);
    else {
      for (const { field, replaces } of changes) if (replaces !== undefined) shared.versions.set(field, replaces + 1);
      this.#evict(answer.evicted, identity);
    }
  }

  /** Ends backend sessions too. Without the caller's token, it reaches only some backends. */
  endRecords(records: readonly StoredRecord[], identity: Identity): void {
    const { tell, ended } = this.#deps;
    if (records.length > 0) void tell({ type: 'ended', keys: records.map(({ key }) => key) });
    for (const record of records) {
      ended(record.key);
      this.#endBackendSessions(this.#fieldsOf(record), identity);
    }
  }

  #evict(records: readonly EvictedRecord[], identity: Identity): void {
    const { tell, ended, evicted, table } = this.#deps;
    if (records.length > 0) void tell({ type: 'ended', keys: records.map(({ key }) => key) });
    for (const record of records) {
      ended(record.key);
      const session = storedSessionLogId(record.key);
      const fields = this.#fieldsOf(record);
      const stored = readProfile(fields);
      const { revision, clientName, clientVersion } = stored?.profile ?? NO_PROFILE;
      const about = { principal: stored?.principal, session, revision, clientName, clientVersion };
      evicted({ ...about, reason: evictionReason(table.limits), idle: record.unused });
      this.#endBackendSessions(fields, identity);
    }
  }

  #endBackendSessions(fields: readonly SessionField[], identity: Identity): void {
    const backendSessions = fields.map((field) => readBackendSession(field, this.#deps.backends()));
    endBackendSessionsOf(
      backendSessions.filter((backendSession) => backendSession !== undefined),
      identity,
    );
  }

  #fieldsOf(record: StoredRecord): readonly SessionField[] {
    const { seal, log } = this.#deps;
    try {
      return openFields(record, record.fields, seal);
    } catch (error) {
      log.warn('the record of a session that ended cannot be opened', { error });
      return [];
    }
  }
}

const NO_PROFILE = { revision: undefined, clientName: undefined, clientVersion: undefined };

export function storeUnavailable(cause?: unknown): RequestError {
  return new RequestError(
    {
      status: 503,
      code: 'session_store_unavailable',
      text: 'The session store cannot be reached; try again in a moment',
      headers: { 'Retry-After': '2' },
      rpc: { code: -32603 },
    },
    { cause },
  );
}
