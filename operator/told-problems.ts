import { keyText, type ResourceKey } from './world.ts';

/** Remembers the last problem of each resource, so that a problem that stays is told once. */
export class ToldProblems {
  readonly #told = new Map<string, string>();

  /** Notes a problem. Returns false where the same one was noted last. */
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
