import type { SharedSession } from './shared-session.ts';
import type { NoRecord, RecordUse, SessionRecords } from './storage/session-records.ts';

/** Milliseconds without a told use after which the next one is told at once: another replica may evict, and must know of a new call. */
const TELL_AFTER = 15_000;

interface SessionUsesDeps {
  readonly records: Pick<SessionRecords, 'touch'>;
  /** Milliseconds without use after which a session ends. */
  readonly idle: () => number;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
  /** Told what became of a record of a session that is in use. */
  readonly settle: (shared: SharedSession, state: NoRecord | undefined) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** Tells records when their sessions were used, many in one question. */
export class SessionUses {
  readonly #deps: SessionUsesDeps;
  #soon: SharedSession[] = [];

  constructor(deps: SessionUsesDeps) {
    this.#deps = deps;
  }

  /** Called at each use of a session. */
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
      // What is not told now is told with the next round.
      .catch((error: unknown) => {
        for (const shared of soon) shared.toldUse = -Infinity;
        failed(error);
      });
  }
}

/** Used since the record was told, or in use. */
function isInUse({ session, toldUse }: SharedSession): boolean {
  return session.lastUsed > toldUse || session.stream !== undefined || session.calls > 0;
}

function useOf({ name, session, toldUse }: SharedSession, at: number): RecordUse {
  if (session.calls > 0) return { ...name, unused: 0 };
  return { ...name, unused: session.lastUsed > toldUse ? at - session.lastUsed : undefined };
}
