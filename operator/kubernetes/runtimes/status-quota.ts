import { Quota, QuotaExceeded } from '#lib/limits/quota';
import { BOUNDS } from '#operator/memory-bounds';
import { memoryOf } from '#operator/text-memory';
import type { PodStatus } from './fetch-pod-status.ts';

const { ofNamespace, ofAll, sure } = BOUNDS.podStatuses;
/** Memory of an entry besides its text. Bytes. */
const ENTRY = 96;

/** Returns the memory of a pod's status: that of its text, plus a constant per entry. Bytes. */
export function weightOf({ status, secretFiles }: PodStatus): number {
  const lists = [status.backends, status.warnings, Object.keys(secretFiles), ...listsOf(status.auth_server)];
  const entries = lists.reduce((sum, list) => sum + list.length, 0);
  return memoryOf(JSON.stringify(status)) + memoryOf(JSON.stringify(secretFiles)) + ENTRY * entries;
}

function listsOf(server: PodStatus['status']['auth_server']): readonly unknown[][] {
  if (!server) return [];
  const { signing_keys: keys, secrets, secrets_in_use: used, redirect_uris: uris } = server;
  return [keys.kids, secrets.kids, Object.keys(used ?? {}), Object.keys(uris)];
}

/** Limits the cached statuses of pods. A tenant can start many pods that pose as runtimes, and each status has up to 1 MB. */
export class StatusQuota {
  readonly #quota = new Quota({ total: ofAll, perKey: ofNamespace, guaranteed: sure });
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
