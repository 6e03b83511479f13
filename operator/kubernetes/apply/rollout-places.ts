import { restartOf } from '#operator/plan/object-parts';
import type { Manifest } from '#operator/world';
import type { KubeObject } from '../api/object.ts';
import { keepsPods } from './compare-objects.ts';

/** Milliseconds: what is not complete by then holds up nobody any more. The default of a Deployment; a StatefulSet has none. */
const LONGEST = 600_000;

const placeOf = ({ metadata: { namespace = '', name } }: KubeObject) => `${namespace}/${name}`;

/** What rolls at present: servers and backends together, whose pods all have the image of the runtime or may have. */
export class RolloutPlaces {
  readonly #since = new Map<string, number>();
  readonly #now: () => number;

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** What is known of a Deployment or a StatefulSet. */
  told(object: KubeObject, isRolling: boolean): void {
    const place = placeOf(object);
    if (!isRolling) this.#since.delete(place);
    else if (!this.#since.has(place)) this.#since.set(place, this.#now());
  }

  /** Whether it may roll, as it does already or a place was free, which it has from now on. */
  take(object: KubeObject, most: number): boolean {
    const place = placeOf(object);
    const standing = [...this.#since].filter(([, since]) => this.#now() - since < LONGEST).map(([taken]) => taken);
    if (standing.includes(place)) return true;
    if (standing.length >= most) return false;
    this.#since.set(place, this.#now());
    return true;
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
