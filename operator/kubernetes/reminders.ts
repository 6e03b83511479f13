import type { Clock } from '#operator/queue';
import { keyText, type ResourceKey } from '#operator/world';

/** Looks at resources that no change will ask for. However often one is asked for, it comes once. */
export class Reminders {
  readonly #clock: Clock;
  readonly #remind: (key: ResourceKey) => void;
  readonly #pending = new Map<string, () => void>();

  constructor(clock: Clock, remind: (key: ResourceKey) => void) {
    this.#clock = clock;
    this.#remind = remind;
  }

  /** After so many milliseconds, unless one after as many is due already: each attempt asks, and each look is an attempt. */
  after(milliseconds: number, key: ResourceKey): void {
    const text = `${milliseconds} ${keyText(key)}`;
    if (this.#pending.has(text)) return;
    const cancel = this.#clock.after(milliseconds, () => {
      this.#pending.delete(text);
      this.#remind(key);
    });
    this.#pending.set(text, cancel);
  }

  close(): void {
    for (const cancel of this.#pending.values()) cancel();
    this.#pending.clear();
  }
}
