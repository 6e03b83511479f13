import { setImmediate as giveWay } from 'node:timers/promises';
import { matchTemplate } from './match-template.ts';

/** Characters that are looked at before others have their turn: about a millisecond. */
const TURN = 200_000;

/** Looks for templates that URIs come from, on behalf of one request: with an end, and giving way to others meanwhile. */
export class TemplateSearch {
  #left: number;
  #turn = TURN;

  /** `most`: characters that may be looked at for this request, of all URIs and templates together. */
  constructor(most: number) {
    this.#left = most;
  }

  /** @returns the first whose template the URI comes from; none when the request has used up what it may look at */
  async first<T extends { readonly originalName: string }>(entries: readonly T[], uri: string): Promise<T | undefined> {
    for (const entry of entries) {
      if (this.#left <= 0) return undefined;
      const { matches, steps } = matchTemplate(entry.originalName, uri);
      if (matches) return entry;
      this.#left -= steps;
      this.#turn -= steps;
      if (this.#turn > 0) continue;
      this.#turn = TURN;
      await giveWay();
    }
    return undefined;
  }
}
