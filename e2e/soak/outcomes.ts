/** Milliseconds after the end of an outage in which a call of the member may still fail. */
export const GRACE_MS = 2_000;
/** Milliseconds. A call that ran longer before an outage, and then timed out, had failed before it. */
export const LONGEST_MS = 10_000;
const TIMED_OUT = /in time|timed out/i;
/** Milliseconds without an iteration of the event loop. */
const STALL_MS = 2_000;
const MOST_FAILURES = 100_000;

/** Times are milliseconds of the monotonic clock. */
export interface Call {
  /** Name of the backend; ANY for the gateway itself. */
  member: string;
  /** Kind of the call, e.g. `echo`. */
  kind: string;
  began: number;
  ended: number;
}

export interface Failure extends Call {
  problem: string;
}

interface Outage {
  from: number;
  /** Infinity until the member is back. */
  to: number;
}

export const ANY = '*';

/** Stores the outcomes of a soak's calls, and matches failures with outages. */
export class Outcomes {
  readonly #outages = new Map<string, Outage[]>();
  readonly #failures: Failure[] = [];
  readonly #calls = new Map<string, number>();

  /** Begins an outage. Returns a function that ends it. An outage of ANY explains failures at all members. */
  beginOutage(member: string, now = performance.now()): (now?: number) => void {
    const outage: Outage = { from: now, to: Infinity };
    this.#outages.set(member, [...(this.#outages.get(member) ?? []), outage]);
    return (end = performance.now()) => {
      outage.to = end;
    };
  }

  /** Counts a call. `problem`: the reason of its failure. */
  note(call: Call, problem?: string): void {
    this.#calls.set(call.member, (this.#calls.get(call.member) ?? 0) + 1);
    if (problem !== undefined && this.#failures.length < MOST_FAILURES) this.#failures.push({ ...call, problem });
  }

  /**
   * Explains failures at all members while this process itself stalls, as on a machine without idle processors.
   * Connections and calls then time out independent of the gateway. Returns a function that stops it.
   */
  watchStalls(): () => number {
    let [last, stalled] = [performance.now(), 0];
    const timer = setInterval(() => {
      const now = performance.now();
      if (now - last > STALL_MS) {
        this.beginOutage(ANY, last)(now);
        stalled += now - last;
      }
      last = now;
    }, STALL_MS / 10);
    return () => {
      clearInterval(timer);
      return stalled;
    };
  }

  /** Counts a rejection that a client's SDK leaves unhandled. */
  noteUnhandled(reason: unknown): void {
    const now = performance.now();
    this.note({ member: ANY, kind: 'unhandled rejection', began: now, ended: now }, String(reason));
  }

  /** Runs a call and counts it. Never throws. */
  async record(member: string, kind: string, run: () => Promise<unknown>): Promise<void> {
    const began = performance.now();
    let problem: string | undefined;
    try {
      await run();
    } catch (error) {
      problem = describe(error);
    }
    this.note({ member, kind, began, ended: performance.now() }, problem);
  }

  calls(member: string): number {
    return this.#calls.get(member) ?? 0;
  }

  get total(): number {
    return [...this.#calls.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Returns whether the member had an outage at that time. */
  wasDown(member: string, at: number): boolean {
    return (this.#outages.get(member) ?? []).some(({ from, to }) => at >= from && at <= to);
  }

  outages(member: string): number[] {
    return (this.#outages.get(member) ?? []).map(({ from, to }) => to - from);
  }

  /** Returns the failures that no outage explains. They are final when all outages have ended. */
  unexplained(): Failure[] {
    return this.#failures.filter((failure) => !this.#isExplained(failure));
  }

  get explained(): number {
    return this.#failures.length - this.unexplained().length;
  }

  #isExplained({ member, began, ended, problem }: Failure): boolean {
    const outages = [...(this.#outages.get(member) ?? []), ...(this.#outages.get(ANY) ?? [])];
    return outages.some(({ from, to }) => {
      if (ended < from || began > to + GRACE_MS) return false;
      // On a slow machine, a call takes longer before the outage cuts it.
      const isCut = ended <= to + GRACE_MS && !TIMED_OUT.test(problem);
      return isCut || began >= from - LONGEST_MS;
    });
  }
}

/** `fetch failed` alone does not distinguish a refused connection from a broken one. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const named = cause instanceof Error && 'code' in cause ? cause : error;
  const code = 'code' in named ? named.code : undefined;
  return typeof code === 'string' || typeof code === 'number' ? `${error.message} (${code})` : error.message;
}
