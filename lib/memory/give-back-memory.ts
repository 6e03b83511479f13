/** Fraction of CPU time per period below which the process is idle: health checks and scrapes take some. */
const IDLE_SHARE = 0.02;
/** CPU time since the last collection, in periods, that justifies another one. */
const WORTH_SHARE = 0.05;

/** Collects all garbage, and shrinks the heap. */
const LAST_RESORT = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const;

type CollectOptions = typeof LAST_RESORT;

interface GiveBackSettings {
  /** Milliseconds. */
  readonly period: number;
  readonly cpuTime: () => number;
  /** CPU time from which work counts; default: now. With -Infinity, the first idle period collects after any start. */
  readonly since?: number;
  /** `globalThis.gc`, which Node's option `--expose-gc` provides. */
  readonly gc: (options: CollectOptions) => unknown;
}

/** Returns the milliseconds of CPU time of this process so far. */
export function cpuTimeOfProcess(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Collects garbage when the process becomes idle after work, so that V8 releases unused pages. Returns a function that stops it. */
export function giveBackWhenIdle({ period, cpuTime, gc, since }: GiveBackSettings): () => void {
  let before = cpuTime();
  let collectedAt = since ?? before;
  const timer = setInterval(() => {
    const now = cpuTime();
    const isIdle = now - before < IDLE_SHARE * period;
    before = now;
    if (!isIdle || now - collectedAt < WORTH_SHARE * period) return;
    // The process answers no request during the collection, some 100 ms.
    gc(LAST_RESORT);
    // The CPU time of the collection does not count as work.
    before = cpuTime();
    collectedAt = before;
  }, period).unref();
  return () => clearInterval(timer);
}
