import { BOUNDS, MIB } from '#operator/memory-bounds';
import { AcquireAborted, Semaphore } from '#lib/limits/semaphore';
import { FetchFailure } from '../fetching/fetch-failure.ts';

type TakeTurn = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/** What registries may take of the process that does everything else, too. */
export interface RegistryRoom {
  /** Most weight of what is kept of one. */
  longest: number;
  /** Runs what reads a source once it is its turn. @throws FetchFailure `timeout`: it was not its turn before `signal` */
  turn: TakeTurn;
  /** The same for what loads a kept copy: it waits for no source, which may never answer. */
  turnToLoad: TakeTurn;
  held: HeldRegistries;
}

/** On one machine there are as many as its user has. */
export const ownRoom = (): RegistryRoom => ({
  longest: 64 * MIB,
  turn: (_signal, work) => work(),
  turnToLoad: (_signal, work) => work(),
  held: new HeldRegistries(Infinity),
});

/** Of all namespaces of a cluster: who may write a registry decides what it is read from. */
const { one: LONGEST, ofAll: MOST_HELD } = BOUNDS.registries;
export const READ_AT_ONCE = 4;
/** While one does not answer another one can be set. */
const READ_OF_ONE = 2;
export const LOADED_AT_ONCE = 2;

/** The room of each namespace, within what is for all of them. */
export function sharedRoom(): (namespace: string) => RegistryRoom {
  const reading = new Semaphore({ total: READ_AT_ONCE, perKey: READ_OF_ONE });
  const loading = new Semaphore({ total: LOADED_AT_ONCE, perKey: 1 });
  const held = new HeldRegistries(MOST_HELD);
  return (namespace) => ({
    longest: LONGEST,
    turn: takeTurns(reading, namespace),
    turnToLoad: takeTurns(loading, namespace),
    held,
  });
}

function takeTurns(semaphore: Semaphore, namespace: string): TakeTurn {
  return async (signal, work) => {
    try {
      return await semaphore.run({ key: namespace, signal }, work);
    } catch (problem) {
      if (!(problem instanceof AcquireAborted)) throw problem;
      throw new FetchFailure('timeout', 'too many registries are being read: try again later', { cause: problem });
    }
  };
}

interface Held {
  weight: number;
  letGo: () => void;
}

/** What is in memory of registries. Of too much, who was not asked for longest lets go: there is a copy of it. */
export class HeldRegistries {
  readonly #most: number;
  readonly #held = new Map<object, Held>();
  #weight = 0;

  constructor(most: number) {
    this.#most = most;
  }

  hold(who: object, weight: number, letGo: () => void): void {
    this.release(who);
    this.#held.set(who, { weight, letGo });
    this.#weight += weight;
    for (const [other, held] of this.#held) {
      if (this.#weight <= this.#most || other === who) return;
      this.release(other);
      held.letGo();
    }
  }

  /** It was asked for. */
  use(who: object): void {
    const held = this.#held.get(who);
    if (!held) return;
    this.#held.delete(who);
    this.#held.set(who, held);
  }

  release(who: object): void {
    this.#weight -= this.#held.get(who)?.weight ?? 0;
    this.#held.delete(who);
  }
}
