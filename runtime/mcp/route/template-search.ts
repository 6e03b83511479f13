import { setImmediate as giveWay } from 'node:timers/promises';
import type { CatalogueEntry } from '../aggregate/catalogue-entry.ts';
import { matchTemplate } from './match-template.ts';

/** Characters examined before the search yields to the event loop: about a millisecond. */
const TURN = 200_000;

/** Searches templates that match the URIs of one request. The search is bounded and yields to the event loop. */
export class TemplateSearch {
  readonly #most: number;
  readonly #used = new Map<string, number>();
  #turn = TURN;

  /** `most`: characters per request and backend, for all URIs and templates together. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @returns the first match, without entries of backends whose limit is used up */
  async first<T extends Pick<CatalogueEntry, 'originalName' | 'backend'>>(
    entries: readonly T[],
    uri: string,
  ): Promise<T | undefined> {
    for (const entry of entries) {
      const used = this.#used.get(entry.backend) ?? 0;
      if (used >= this.#most) continue;
      const { matches, steps } = matchTemplate(entry.originalName, uri);
      this.#used.set(entry.backend, used + steps);
      this.#turn -= steps;
      if (this.#turn <= 0) await this.#giveWay();
      if (matches) return entry;
    }
    return undefined;
  }

  async #giveWay(): Promise<void> {
    this.#turn = TURN;
    await giveWay();
  }
}
