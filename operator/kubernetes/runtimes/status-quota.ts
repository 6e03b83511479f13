import { Quota, QuotaExceeded } from '#lib/limits/quota';
import { BOUNDS } from '#operator/memory-bounds';
import type { PodStatus } from './fetch-pod-status.ts';

const { ofNamespace, ofAll, sure } = BOUNDS.lastProbe;
/** Weight of an entry besides its text. */
const ENTRY = 64;

/** Returns the weight of a pod's status: its length as text, plus a constant per entry. */
export function weightOf({ status, secretFiles }: PodStatus): number {
  const entries = status.backends.length + status.warnings.length + Object.keys(secretFiles).length;
  return JSON.stringify(status).length + JSON.stringify(secretFiles).length + ENTRY * entries;
}

/** Limits the cached statuses of pods. A tenant can start many pods that pose as runtimes, and each status has up to 1 MB. */
export class StatusQuota {
  readonly #quota = new Quota({ total: ofAll, perKey: ofNamespace, guaranteed: sure });
  /** By the UID of the pod. */
  readonly #releases = new Map<string, () => void>();

  /** Replaces what the pod holds. Returns false if the new weight exceeds the quota; the pod then holds nothing. */
  take(namespace: string, pod: string, weight: number): boolean {
    this.release(pod);
    try {
      this.#releases.set(pod, this.#quota.take(namespace, weight));
      return true;
    } catch (problem) {
      if (problem instanceof QuotaExceeded) return false;
      throw problem;
    }
  }

  release(pod: string): void {
    this.#releases.get(pod)?.();
    this.#releases.delete(pod);
  }
}
