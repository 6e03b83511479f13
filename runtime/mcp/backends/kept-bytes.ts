/** Who keeps less than this is not counted: most answers are small. */
const FREE = 1_048_576;

/** Strings and buffers of what is kept take several times as much for a moment. */
const LIMIT = 134_217_728;

/** What one exchange keeps in memory. */
export interface Keeper {
  kept: number;
}

/**
 * Bounds what all exchanges together keep of answers that cannot be passed on before they are whole: events of streams, and
 * lists. One alone may be large; many at a time may not.
 */
export class KeptBytes {
  readonly #limit: number;
  #total = 0;

  constructor(limit = LIMIT) {
    this.#limit = limit;
  }

  /** @returns whether there is room for it: then it counts as kept until another number is told */
  tell(keeper: Keeper, bytes: number): boolean {
    const counted = bytes > FREE ? bytes : 0;
    const total = this.#total - keeper.kept + counted;
    if (counted > keeper.kept && total > this.#limit) return false;
    this.#total = total;
    keeper.kept = counted;
    return true;
  }
}
