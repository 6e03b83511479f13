import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Identity } from '#runtime/incoming/identity';
import { SealBroken, UnknownSecret } from '#runtime/keys/secret-ring';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import { LIST_KINDS } from '../aggregate/list-kinds.ts';
import { RecordWriter, storeUnavailable, type RecordWriterDeps } from './record-writer.ts';
import { recordName } from './record-seal.ts';
import type { ReplicaEvent } from './replica-events.ts';
import { clearFields, backendSessionField, readProfile, stateField, type SessionField } from './session-record.ts';
import { SessionUses } from './session-uses.ts';
import { takeCallEvent, type CallEvent } from './call-event.ts';
import { StreamEventPublisher, takeStreamEvent } from './stream-event.ts';
import { backendSessionOf, type BackendSession, type Session } from './session.ts';
import { openFields, takeField, type SharedSession } from './shared-session.ts';
import type { NoRecord, StoredFields } from './storage/session-records.ts';

export interface SharedSessionsDeps extends Omit<RecordWriterDeps, 'ended'> {
  /** Answers from the knowledge of this replica. `time`: milliseconds of the monotonic clock. */
  readonly changedSince: (time: number) => boolean;
  /** Whether an unknown secret may be a new one that another replica has read first. */
  readonly newKeysMayArrive: () => boolean;
  readonly isSubscribed: () => boolean;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

const NOT_SUBSCRIBED = -1;

/** While it receives all events, this replica uses its copies without reading the store. */
export class SharedSessions {
  readonly #deps: SharedSessionsDeps;
  readonly #bySession = new Map<Session, SharedSession>();
  readonly #byKey = new Map<string, SharedSession>();
  readonly #loading = new Map<string, { readonly found: Promise<Session | undefined>; isOvertaken: boolean }>();
  #subscription = 0;
  readonly #streams = new StreamEventPublisher((event) => this.#deps.tell(event));
  readonly #writer: RecordWriter;
  readonly #uses: SessionUses;

  constructor(deps: SharedSessionsDeps) {
    this.#deps = deps;
    this.#writer = new RecordWriter({ ...deps, ended: (key) => this.#onEnded(key) });
    this.#uses = new SessionUses({
      ...deps,
      idle: () => this.#limits.idle,
      settle: (shared, state) => this.#writer.settle(shared, state),
      failed: (error) => {
        if (!(error instanceof StorageUnavailable)) deps.log.error('use of sessions could not be told', { error });
      },
    });
  }

  /** @returns whether the copy here is current */
  trusts(session: Session): boolean {
    const shared = this.#bySession.get(session);
    if (shared === undefined) return false;
    this.#uses.note(shared);
    return shared.subscribedIn === this.#subscription && this.#deps.isSubscribed();
  }

  /** @throws RequestError 503 if a new session could not be stored */
  checkReady(): void {
    if (!this.#deps.records.isReady) throw storeUnavailable();
  }

  /** Concurrent callers share one read. @throws RequestError 503 if the store cannot answer */
  find(id: string, principal: string): Promise<Session | undefined> {
    const { key } = recordName(id, principal);
    const slot = `${key} ${principal}`;
    const running = this.#loading.get(slot);
    if (running) return running.found;
    const found = this.#load(id, principal, slot).finally(() => this.#loading.delete(slot));
    this.#loading.set(slot, { found, isOvertaken: false });
    return found;
  }

  get isOwn(): boolean {
    return this.#deps.records.isOwn;
  }

  get warnings(): readonly string[] {
    const { records, isSubscribed } = this.#deps;
    if (records.problem !== undefined) return [records.problem];
    if (!isSubscribed()) return ['this replica gets no events of the others: each request of a session asks Redis'];
    return [];
  }

  begin(sessions: Iterable<Session>): void {
    for (const session of sessions) this.#share(session).subscribedIn = NOT_SUBSCRIBED;
  }

  /** @throws RequestError 503 */
  async opened(session: Session, identity: Identity): Promise<void> {
    const shared = this.#share(session);
    try {
      await this.#writer.open(shared, identity);
    } catch (error) {
      const fits = this.#deps.table.countOf(session.countedFor) <= this.#limits.perPrincipal;
      // Records of this process alone serve its successor only, so they can be written later.
      shared.isUnwritten = error instanceof StorageUnavailable && this.#deps.records.isOwn && fits;
      if (shared.isUnwritten) return;
      this.forget(session);
      throw error instanceof StorageUnavailable ? storeUnavailable(error) : error;
    }
  }

  async noteState(session: Session, backend: string): Promise<void> {
    if (this.#deps.records.isOwn) await this.remember(session, stateField(backend, true));
  }

  async noteLossTold(session: Session, backend: string): Promise<void> {
    await this.remember(session, stateField(backend, false));
  }

  /** @throws RequestError 503; the session then stays open */
  async end(session: Session): Promise<void> {
    const { key, owner } = recordName(session.id, session.principal);
    try {
      await this.#deps.records.end({ key, owner }, this.#limits.idle);
    } catch (error) {
      throw error instanceof StorageUnavailable ? storeUnavailable(error) : error;
    }
    void this.#deps.tell({ type: 'ended', keys: [key] });
  }

  /** If Redis is unreachable, the field is written later. */
  async remember(session: Session, field: SessionField): Promise<void> {
    const shared = this.#bySession.get(session);
    if (shared) await this.#writer.write(shared, [field]);
  }

  /** @returns the one to use: another replica may have opened one at the same time */
  async keepBackendSession(session: Session, backendSession: BackendSession): Promise<BackendSession> {
    const shared = this.#bySession.get(session);
    const field = backendSessionField(backendSession);
    if (!shared || !field) return backendSession;
    const other = await this.#writer.write(shared, [field]);
    if (other[field.name] === undefined) return backendSession;
    return backendSessionOf(session, backendSession.backend) ?? backendSession;
  }

  tellStream(session: Session): void {
    const shared = this.#bySession.get(session);
    if (shared) void this.#streams.tell(session, shared.name.key);
  }

  tellOfCall(session: Session, event: CallEvent): void {
    const shared = this.#bySession.get(session);
    if (shared) void this.#deps.tell({ ...event, key: shared.name.key });
  }

  forget(session: Session): void {
    const shared = this.#bySession.get(session);
    if (shared) this.#byKey.delete(shared.name.key);
    this.#bySession.delete(session);
  }

  missed(): void {
    this.#subscription++;
    for (const { stream } of this.#bySession.keys()) if (stream) stream.isTold = true;
  }

  onEvent(event: ReplicaEvent): void {
    if (event.type === 'changed') this.#onChanged(event.key, event.fields);
    else if (event.type === 'ended') for (const key of event.keys) this.#onEnded(key);
    else if (event.type === 'stream') takeStreamEvent(this.#byKey.get(event.key)?.session.stream, event.stream);
    else if (event.type !== 'lists' && event.type !== 'links' && !('retry' in event) && !('watch' in event))
      takeCallEvent(this.#byKey.get(event.key)?.session, event, this.#deps.now());
  }

  async tend(): Promise<void> {
    const { records } = this.#deps;
    if (!records.isReady) return;
    await Promise.all([this.#uses.tell(this.#bySession.values()), this.#streams.tellAgain()]);
    for (const shared of this.#bySession.values()) if (shared.isUnwritten) await this.#writer.writeAll(shared);
    this.#writer.endRecords(await records.sweep(this.#limits.idle), ANONYMOUS);
  }

  get #limits() {
    return this.#deps.table.limits;
  }

  #share(session: Session, openedAt?: number): SharedSession {
    const { now, wallClock } = this.#deps;
    const known = this.#bySession.get(session);
    if (known) return known;
    const shared: SharedSession = {
      session,
      name: recordName(session.id, session.principal),
      openedAt: openedAt ?? Math.round(wallClock() - (now() - session.openedAt)),
      versions: new Map(),
      subscribedIn: this.#subscription,
      toldUse: now(),
      isUnwritten: false,
    };
    this.#bySession.set(session, shared);
    this.#byKey.set(shared.name.key, shared);
    return shared;
  }

  async #load(id: string, principal: string, slot: string): Promise<Session | undefined> {
    const subscription = this.#subscription;
    const known = this.#deps.table.get(id);
    const shared = known && this.#share(known);
    if (shared?.isUnwritten === true) await this.#writer.writeAll(shared);
    const stored = await this.#read(id, principal, known);
    if (stored === undefined) return known;
    if (typeof stored === 'string') return shared && this.#settle(shared, stored, subscription);
    const session = this.#takeOver(id, principal, stored);
    const now = session && this.#bySession.get(session);
    if (now) now.subscribedIn = this.#loading.get(slot)?.isOvertaken === true ? NOT_SUBSCRIBED : subscription;
    return session;
  }

  /** Returns undefined if the store is unreachable but the session is known here. @throws RequestError 503 */
  async #read(id: string, principal: string, known: Session | undefined): Promise<StoredFields | NoRecord | undefined> {
    try {
      return await this.#deps.records.load(recordName(id, principal), this.#limits.idle);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (known && !known.isOver) return undefined;
      throw storeUnavailable(error);
    }
  }

  async #settle(shared: SharedSession, state: NoRecord, subscription: number): Promise<Session | undefined> {
    shared.subscribedIn = subscription;
    await this.#writer.settle(shared, state);
    return shared.session.isOver ? undefined : shared.session;
  }

  /** @throws RequestError 503 */
  #takeOver(id: string, principal: string, stored: StoredFields): Session | undefined {
    const { seal, table, now, wallClock, changedSince, log } = this.#deps;
    try {
      const fields = openFields(recordName(id, principal), stored, seal);
      const profile = readProfile(fields);
      if (profile?.principal !== principal) return undefined;
      const openedAt = now() - (wallClock() - profile.openedAt);
      const known = table.get(id);
      const session = known ?? table.adopt(id, profile, profile.profile, openedAt);
      // This replica has not announced earlier changes to this client.
      if (!known && changedSince(openedAt)) session.changed = new Set(LIST_KINDS);
      const shared = this.#share(session, profile.openedAt);
      clearFields(session);
      for (const field of fields) takeField(shared, field, this.#deps.backends());
      shared.toldUse = now();
      shared.isUnwritten = fields.some(({ stale }) => stale);
      return session;
    } catch (error) {
      if (!(error instanceof UnknownSecret || error instanceof SealBroken)) throw error;
      if (error instanceof UnknownSecret && this.#deps.newKeysMayArrive()) throw storeUnavailable(error);
      log.warn('the record of a session cannot be opened: its client has to begin anew', { error });
      return undefined;
    }
  }

  #onChanged(key: string, stored: StoredFields): void {
    this.#overtake(key);
    const shared = this.#byKey.get(key);
    if (!shared) return;
    try {
      const fields = openFields(shared.name, stored, this.#deps.seal);
      for (const field of fields) takeField(shared, field, this.#deps.backends());
    } catch (error) {
      shared.subscribedIn = NOT_SUBSCRIBED;
      this.#deps.log.warn('what another replica wrote cannot be opened', { error });
    }
  }

  #onEnded(key: string): Session | undefined {
    this.#overtake(key);
    const session = this.#byKey.get(key)?.session;
    if (session) this.#deps.table.forget(session);
    return session;
  }

  /** Reads in flight may be older than the event that arrived now. */
  #overtake(key: string): void {
    for (const [slot, loading] of this.#loading) if (slot.startsWith(`${key} `)) loading.isOvertaken = true;
  }
}
