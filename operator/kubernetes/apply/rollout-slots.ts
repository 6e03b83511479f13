import { restartOf } from '#operator/plan/object-parts';
import type { Manifest } from '#operator/snapshot';
import type { KubeObject } from '../api/object.ts';
import { keepsPods } from './compare-objects.ts';

/** Milliseconds after which an incomplete rollout releases its slot. The default of a Deployment; a StatefulSet has none. */
const LONGEST = 600_000;

/** Milliseconds. Every waiting resource asks more often than that. */
const WAITS = 15_000;

const keyOf = ({ metadata: { namespace = '', name } }: KubeObject) => `${namespace}/${name}`;
const namespaceOf = (place: string) => place.slice(0, place.indexOf('/'));

interface Rollout {
  /** Milliseconds. */
  since: number;
  /** It has its own slot. Otherwise it rolls for another reason. */
  hasTaken: boolean;
}

/** Current rollouts of servers and backends together, as the pods of both may have the runtime's image. */
export class RolloutSlots {
  readonly #rollouts = new Map<string, Rollout>();
  /** By namespace: time of its last refused request. */
  readonly #waiting = new Map<string, number>();
  /** By waiting namespace: the number of the last slot that it got. */
  readonly #served = new Map<string, number>();
  #number = 0;
  readonly #now: () => number;

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  told(object: KubeObject, isRolling: boolean): void {
    const place = keyOf(object);
    if (!isRolling) this.#rollouts.delete(place);
    else if (!this.#rollouts.has(place)) this.#rollouts.set(place, { since: this.#now(), hasTaken: false });
  }

  /** Returns whether it may roll: it rolls already, or it gets a free slot now. */
  take(object: KubeObject, most: number): boolean {
    const place = keyOf(object);
    const now = this.#now();
    const standing = new Map([...this.#rollouts].filter(([, { since }]) => now - since < LONGEST));
    if (standing.get(place)?.hasTaken === true) return true;
    standing.delete(place);
    const taken = [...standing].filter(([, { hasTaken }]) => hasTaken).map(([name]) => namespaceOf(name));
    // Flapping workloads leave one slot free.
    const others = Math.min(standing.size - taken.length, most - 1);
    const namespace = namespaceOf(place);
    if (taken.length + others >= most || this.#isOthersTurn(namespace, taken)) {
      this.#waiting.set(namespace, now);
      return false;
    }
    this.#rollouts.set(place, { since: now, hasTaken: true });
    this.#served.set(namespace, (this.#number += 1));
    return true;
  }

  /** A free slot goes to the namespace with the fewest slots, then to the one that has waited longest. */
  #isOthersTurn(namespace: string, taken: readonly string[]): boolean {
    for (const [waiting, since] of this.#waiting) if (this.#now() - since >= WAITS) this.#waiting.delete(waiting);
    for (const served of this.#served.keys())
      if (served !== namespace && !this.#waiting.has(served)) this.#served.delete(served);
    const held = (one: string) => taken.filter((other) => other === one).length;
    const last = (one: string) => this.#served.get(one) ?? 0;
    const isBefore = (one: string) => (held(one) - held(namespace) || last(one) - last(namespace)) < 0;
    return [...this.#waiting.keys()].some((one) => one !== namespace && isBefore(one));
  }
}

interface PodMaker {
  spec?: { template?: { metadata?: { annotations?: Record<string, string> } } };
}

const restartIn = (object: KubeObject & PodMaker) => restartOf(object.spec?.template?.metadata?.annotations);

/** Returns whether pods would be replaced without a user's change, as after an operator upgrade. */
export function rollsUnasked(desired: KubeObject, live: KubeObject, owner: Manifest, apiGroup: string): boolean {
  const { observedGeneration } = (owner.status ?? {}) as { observedGeneration?: number };
  if (observedGeneration !== owner.metadata.generation || restartIn(desired) !== restartIn(live)) return false;
  return !keepsPods(desired, live, apiGroup);
}
