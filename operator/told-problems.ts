import { keyText, type ResourceKey } from './snapshot.ts';

/** Remembers the last problem of each resource, so that a caller reports an unchanged problem once. */
export class ToldProblems {
  readonly #told = new Map<string, string>();

  /** Stores a problem. Returns false if it equals the last problem of the resource. */
  note(key: ResourceKey, problem: unknown): boolean {
    const text = String(problem);
    const isNew = this.#told.get(keyText(key)) !== text;
    this.#told.set(keyText(key), text);
    return isNew;
  }

  solved(key: ResourceKey): void {
    this.#told.delete(keyText(key));
  }
}
