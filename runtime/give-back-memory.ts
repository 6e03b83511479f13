/** CPU time within one period below which the process counts as idle: health checks and scrapes take some. */
const IDLE_SHARE = 0.02;
/** CPU time since the last collection, in periods, that is worth another one. */
const WORTH_SHARE = 0.05;

/** Collects all garbage, and shrinks the heap. */
const LAST_RESORT = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const;

type CollectOptions = typeof LAST_RESORT;

interface GiveBackSettings {
  /** Milliseconds. */
  readonly period: number;
  /** Milliseconds of CPU time of this process so far. */
  readonly cpuTime: () => number;
  /** `globalThis.gc`, which Node's option `--expose-gc` provides. */
  readonly gc: (options: CollectOptions) => unknown;
}

/**
 * Collects garbage once the process is idle after work, so that V8 returns the pages that it keeps for its next objects. Returns what
 * stops it.
 */
export function giveBackWhenIdle({ period, cpuTime, gc }: GiveBackSettings): () => void {
  let before = cpuTime();
  let collectedAt = before;
  const timer = setInterval(() => {
    const now = cpuTime();
    const isIdle = now - before < IDLE_SHARE * period;
    before = now;
    if (!isIdle || now - collectedAt < WORTH_SHARE * period) return;
    // It answers no request meanwhile: some 100 ms.
    gc(LAST_RESORT);
    // Its own cost is no work.
    before = cpuTime();
    collectedAt = before;
  }, period).unref();
  return () => clearInterval(timer);
}
