import type { Log } from '#lib/log/log';
import type { Platform } from '#operator/platform';
import { systemClock } from '#operator/queue';
import { reconcile } from '#operator/reconcile';
import { ToldProblems } from '#operator/told-problems';
import type { ResourceKey } from '#operator/snapshot';
import type { Lease } from './lease.ts';
import type { OperatorMetrics } from './metrics.ts';

interface LeadSettings {
  /** Undefined for a single operator. */
  lease: Lease | undefined;
  metrics: OperatorMetrics;
  log: Log;
  workers: number;
  /** Milliseconds. */
  resync: number;
  stop: AbortSignal;
}

/** Milliseconds for current work to end before the Lease is handed over. */
const END_WITHIN = 5000;

/** Waits for the Lease, then reconciles until it is stopped or the Lease is lost. Returns whether it was stopped. */
export async function lead(platform: Platform, settings: LeadSettings): Promise<boolean> {
  const { lease, metrics, log, workers, resync, stop } = settings;
  const isLeader = () => lease?.isHeld() ?? true;
  metrics.watch({ depth: () => 0, isLeader });
  await first(lease?.acquired ?? Promise.resolve(), aborted(stop));
  if (stop.aborted) {
    await lease?.handOver();
    return true;
  }
  const problems = new ProblemLog(metrics, log);
  const loop = await reconcile(platform, systemClock, (...problem) => problems.tell(...problem), {
    workers,
    resync,
    mayAct: isLeader,
    onWork(key, result, waited, worked) {
      metrics.waited(waited / 1000);
      metrics.worked(key.kind, result, worked / 1000);
      if (result === 'success') problems.solved(key);
    },
  });
  metrics.watch({ depth: () => loop.depth(), isLeader });
  await first(lease?.lost ?? never, aborted(stop));
  // Without the Lease it cleans nothing up, as another replica is already active.
  if (!isLeader()) {
    void loop.abandon();
    return false;
  }
  log.info('the operator stops');
  await first(loop.stop(), after(END_WITHIN));
  await lease?.handOver();
  return true;
}

const never = new Promise<void>(() => undefined);

async function first(...promises: Promise<unknown>[]): Promise<void> {
  await Promise.race(promises);
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}

async function after(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}

/** Logs each unchanged problem once, and counts retries. */
class ProblemLog {
  readonly #metrics: OperatorMetrics;
  readonly #log: Log;
  readonly #told = new ToldProblems();

  constructor(metrics: OperatorMetrics, log: Log) {
    this.#metrics = metrics;
    this.#log = log;
  }

  tell(key: ResourceKey, problem: unknown, retryIn?: number): void {
    const { kind, namespace, name } = key;
    if (retryIn !== undefined) this.#metrics.retried(kind);
    if (!this.#told.note(key, problem)) return;
    const message =
      retryIn === undefined
        ? 'it cannot be brought about until something changes'
        : 'it could not be brought about: trying again';
    this.#log.warn(message, {
      resource: `${kind} ${namespace}/${name}`,
      problem,
      ...(retryIn !== undefined && { retryIn }),
    });
  }

  solved(key: ResourceKey): void {
    this.#told.solved(key);
  }
}
