import type { Clock } from '#operator/queue';
import { keyText, type ResourceKey } from '#operator/snapshot';

/** Schedules later checks of resources. Several requests for the same delay and resource run once. */
export class DelayedRequeue {
  readonly #clock: Clock;
  readonly #remind: (key: ResourceKey) => void;
  readonly #pending = new Map<string, () => void>();

  constructor(clock: Clock, remind: (key: ResourceKey) => void) {
    this.#clock = clock;
    this.#remind = remind;
  }

  /** Schedules a check after this many milliseconds, unless one with the same delay is pending: each attempt requests a check. */
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
