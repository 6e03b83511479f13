import { BOUNDS } from '#operator/memory-bounds';
import type { PodStatus } from './fetch-pod-status.ts';

const { ofNamespace: MOST, ofAll: MOST_OF_ALL, sure: SURE } = BOUNDS.heard;
/** What an entry weighs besides its text. */
const ENTRY = 64;

/** What a pod's answer weighs, as text. */
export function weightOf({ status, secretFiles }: PodStatus): number {
  const entries = status.backends.length + status.warnings.length + Object.keys(secretFiles).length;
  return JSON.stringify(status).length + JSON.stringify(secretFiles).length + ENTRY * entries;
}

/** Room for what pods say: whoever may start pods may start many that call themselves runtimes, and each says up to a megabyte. */
export class HeardRoom {
  readonly #pods = new Map<string, { namespace: string; weight: number }>();
  readonly #namespaces = new Map<string, number>();
  #all = 0;

  /** Whether there is room for what a pod says now, in place of what it said before; where there is none it has nothing. */
  take(namespace: string, pod: string, weight: number): boolean {
    this.leave(pod);
    const held = (this.#namespaces.get(namespace) ?? 0) + weight;
    if (held > MOST || (held > SURE && this.#all + weight > MOST_OF_ALL)) return false;
    this.#pods.set(pod, { namespace, weight });
    this.#namespaces.set(namespace, held);
    this.#all += weight;
    return true;
  }

  leave(pod: string): void {
    const { namespace, weight } = this.#pods.get(pod) ?? { namespace: '', weight: 0 };
    if (!this.#pods.delete(pod)) return;
    const held = (this.#namespaces.get(namespace) ?? 0) - weight;
    if (held > 0) this.#namespaces.set(namespace, held);
    else this.#namespaces.delete(namespace);
    this.#all -= weight;
  }
}
