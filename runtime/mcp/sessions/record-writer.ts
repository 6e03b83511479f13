import { RequestError } from '#runtime/errors';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Identity } from '#runtime/incoming/identity';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import type { Log } from '#runtime/telemetry/log';
import { endLegsOf } from './end-legs.ts';
import type { RecordSeal } from './record-seal.ts';
import type { News } from './replica-news.ts';
import { fieldsOfSession, readLeg, type SessionField } from './session-record.ts';
import type { SessionTable } from './session-store.ts';
import { openFields, sealChanges, takeField, type SharedSession } from './shared-session.ts';
import type { NoRecord, SessionRecords, StoredFields, StoredRecord } from './storage/session-records.ts';

export interface RecordWriterDeps {
  readonly records: SessionRecords;
  readonly seal: RecordSeal;
  readonly table: SessionTable;
  /** Those in force. */
  readonly backends: () => BackendSet;
  /** Told to the other replicas. */
  readonly tell: (news: News) => void;
  /** Told of each record that was ended here. */
  readonly ended: (key: string) => void;
  readonly log: Log;
}

/** Writes the records of sessions, and tells the other replicas what was written. */
export class RecordWriter {
  readonly #deps: RecordWriterDeps;

  constructor(deps: RecordWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Writes what has changed. Where Redis cannot be told now, it is told later.
   * @returns the legs that others had written before, which are taken over
   */
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
      const news = Object.fromEntries(written.map(({ field, value = '' }) => [field, value]));
      if (written.length > 0) tell({ type: 'changed', key: shared.name.key, fields: news });
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

  /** A record that a failover has lost is written again; a session that was ended elsewhere has ended. */
  async settle(shared: SharedSession, state: NoRecord | undefined): Promise<void> {
    if (state === undefined) return;
    if (state !== 'missing') {
      this.#deps.table.forget(shared.session);
      return;
    }
    try {
      shared.versions.clear();
      await this.open(shared, ANONYMOUS);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      shared.isUnwritten = true;
    }
  }

  /**
   * Writes a record that is not there. `identity`: whose sessions at backends end where one has to make room.
   * @throws StorageUnavailable
   */
  async open(shared: SharedSession, identity: Identity): Promise<void> {
    const { records, seal, table } = this.#deps;
    const changes = sealChanges(shared, fieldsOfSession(shared.session, shared.openedAt), seal);
    const fields = Object.fromEntries(changes.map(({ field, value = '' }) => [field, value]));
    const { idle, perPrincipal: most } = table.limits;
    const answer = await records.open({ ...shared.name, fields }, { idle, most });
    // Another replica that knows it was quicker: what it wrote is read when the session is used next.
    if (answer === 'there') shared.heardIn = -1;
    else if (typeof answer === 'string') table.forget(shared.session);
    else {
      for (const { field, replaces } of changes) if (replaces !== undefined) shared.versions.set(field, replaces + 1);
      this.endRecords(answer, identity);
    }
  }

  /** Their own sessions at backends are ended too, as far as these can be told: without its caller's token only some. */
  endRecords(records: readonly StoredRecord[], identity: Identity): void {
    const { seal, tell, ended, log, backends } = this.#deps;
    if (records.length > 0) tell({ type: 'ended', keys: records.map(({ key }) => key) });
    for (const record of records) {
      ended(record.key);
      try {
        const legs = openFields(record, record.fields, seal).map((field) => readLeg(field, backends()));
        endLegsOf(
          legs.filter((leg) => leg !== undefined),
          identity,
        );
      } catch (error) {
        log.warn('the record of a session that ended cannot be opened', { error });
      }
    }
  }
}

/** New sessions, and those that this replica does not know, need the store. */
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
