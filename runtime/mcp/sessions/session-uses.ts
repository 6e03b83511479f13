import type { SharedSession } from './shared-session.ts';
import type { NoRecord, RecordUse, SessionRecords } from './storage/session-records.ts';

/** Milliseconds before the next use is recorded at once, because another replica may evict the session. */
const TELL_AFTER = 15_000;

interface SessionUsesDeps {
  readonly records: Pick<SessionRecords, 'touch'>;
  /** Milliseconds. */
  readonly idle: () => number;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
  readonly settle: (shared: SharedSession, state: NoRecord | undefined) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** Records in the store when sessions were used, many in one request. */
export class SessionUses {
  readonly #deps: SessionUsesDeps;
  #soon: SharedSession[] = [];

  constructor(deps: SessionUsesDeps) {
    this.#deps = deps;
  }

  note(shared: SharedSession): void {
    const { session, toldUse } = shared;
    if (session.lastUsed - toldUse <= TELL_AFTER) return;
    shared.toldUse = session.lastUsed;
    this.#soon.push(shared);
    if (this.#soon.length === 1) setImmediate(() => this.#tellSoon());
  }

  /** @throws StorageUnavailable */
  async tell(all: Iterable<SharedSession>): Promise<void> {
    const { records, idle, now } = this.#deps;
    const at = now();
    const told = [...all].filter(isInUse).map((shared) => ({ shared, use: useOf(shared, at) }));
    const states = await records.touch(
      told.map(({ use }) => use),
      idle(),
    );
    for (const { shared, use } of told) if (use.unused !== undefined) shared.toldUse = at - use.unused;
    await this.#settle(
      told.map(({ shared }) => shared),
      states,
    );
  }

  async #settle(told: readonly SharedSession[], states: readonly (NoRecord | undefined)[]): Promise<void> {
    for (const [index, shared] of told.entries()) await this.#deps.settle(shared, states[index]);
  }

  #tellSoon(): void {
    const soon = this.#soon;
    this.#soon = [];
    const { records, idle, now, failed } = this.#deps;
    const at = now();
    const uses = soon.map(({ name, session }) => ({ ...name, unused: at - session.lastUsed }));
    records
      .touch(uses, idle())
      .then((states) => this.#settle(soon, states))
      // The next run records the uses that failed now.
      .catch((error: unknown) => {
        for (const shared of soon) shared.toldUse = -Infinity;
        failed(error);
      });
  }
}

function isInUse({ session, toldUse }: SharedSession): boolean {
  return session.lastUsed > toldUse || session.stream !== undefined || session.calls > 0;
}

function useOf({ name, session, toldUse }: SharedSession, at: number): RecordUse {
  if (session.calls > 0) return { ...name, unused: 0 };
  return { ...name, unused: session.lastUsed > toldUse ? at - session.lastUsed : undefined };
}
