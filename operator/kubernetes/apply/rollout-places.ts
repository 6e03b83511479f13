import { restartOf } from '#operator/plan/object-parts';
import type { Manifest } from '#operator/world';
import type { KubeObject } from '../api/object.ts';
import { keepsPods } from './compare-objects.ts';

/** Milliseconds: what is not complete by then holds up nobody any more. The default of a Deployment; a StatefulSet has none. */
const LONGEST = 600_000;

/** Milliseconds: whoever waits asks more often than that. */
const WAITS = 15_000;

const placeOf = ({ metadata: { namespace = '', name } }: KubeObject) => `${namespace}/${name}`;
const namespaceOf = (place: string) => place.slice(0, place.indexOf('/'));

interface Rollout {
  /** Milliseconds. */
  since: number;
  /** It has a place of its own; else it rolls for another reason. */
  hasTaken: boolean;
}

/** What rolls at present: servers and backends together, whose pods all have the image of the runtime or may have. */
export class RolloutPlaces {
  readonly #rollouts = new Map<string, Rollout>();
  /** By namespace: when it last asked in vain. */
  readonly #waiting = new Map<string, number>();
  /** By namespace that waits: the number of the last place that it got. */
  readonly #served = new Map<string, number>();
  #number = 0;
  readonly #now: () => number;

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** What is known of a Deployment or a StatefulSet. */
  told(object: KubeObject, isRolling: boolean): void {
    const place = placeOf(object);
    if (!isRolling) this.#rollouts.delete(place);
    else if (!this.#rollouts.has(place)) this.#rollouts.set(place, { since: this.#now(), hasTaken: false });
  }

  /** Whether it may roll, as it does already or a place was free, which it has from now on. */
  take(object: KubeObject, most: number): boolean {
    const place = placeOf(object);
    const now = this.#now();
    const standing = new Map([...this.#rollouts].filter(([, { since }]) => now - since < LONGEST));
    if (standing.get(place)?.hasTaken === true) return true;
    standing.delete(place);
    const taken = [...standing].filter(([, { hasTaken }]) => hasTaken).map(([name]) => namespaceOf(name));
    // What comes and goes by itself leaves one.
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

  /** A free place is for the namespace that has the fewest, and among these for the one that has waited longest. */
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

/** Whether pods would be replaced although nobody changed the resource, as after an upgrade of the operator. */
export function rollsUnasked(desired: KubeObject, live: KubeObject, owner: Manifest, apiGroup: string): boolean {
  const { observedGeneration } = (owner.status ?? {}) as { observedGeneration?: number };
  if (observedGeneration !== owner.metadata.generation || restartIn(desired) !== restartIn(live)) return false;
  return !keepsPods(desired, live, apiGroup);
}
