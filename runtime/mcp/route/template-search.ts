import { setImmediate as giveWay } from 'node:timers/promises';
import type { CatalogueEntry } from '../aggregate/catalogue-entry.ts';
import { matchTemplate } from './match-template.ts';

/** Characters that are looked at before others have their turn: about a millisecond. */
const TURN = 200_000;

/** Looks for templates that URIs come from, on behalf of one request: with an end, and giving way to others meanwhile. */
export class TemplateSearch {
  readonly #most: number;
  readonly #used = new Map<string, number>();
  #turn = TURN;

  /** `most`: characters that may be looked at for this request at each backend, of all URIs and templates together. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @returns the first whose template the URI comes from, without those of backends at which nothing more may be looked at */
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
