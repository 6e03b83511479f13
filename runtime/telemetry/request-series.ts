import { Durations } from './durations.ts';

const OUTCOMES = ['success', 'failure', 'error', 'denied', 'tool_error'] as const;
export type Outcome = (typeof OUTCOMES)[number];

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;
const OUTCOME_INDEX: Record<Outcome, number> = { success: 0, failure: 1, error: 2, denied: 3, tool_error: 4 };

function classIndexOf(status: number): number {
  return Math.min(Math.max(Math.trunc(status / 100), 1), CLASSES.length) - 1;
}

/** Returns the class of an HTTP status, e.g. `4xx`. */
export function classOf(status: number): string {
  return CLASSES[classIndexOf(status)] ?? '5xx';
}

/** Counts of requests with one method, or to one backend, by outcome and class of the HTTP status, and their durations. */
export class RequestSeries {
  readonly durations = new Durations();
  readonly #counts = new Float64Array(OUTCOMES.length * CLASSES.length);

  note(outcome: Outcome, status: number, milliseconds: number): void {
    const place = OUTCOME_INDEX[outcome] * CLASSES.length + classIndexOf(status);
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    this.durations.note(milliseconds);
  }

  *counts(): Generator<{ outcome: Outcome; status: string; count: number }> {
    for (const [index, count] of this.#counts.entries()) {
      const outcome = OUTCOMES[Math.trunc(index / CLASSES.length)];
      const status = CLASSES[index % CLASSES.length];
      if (count > 0 && outcome !== undefined && status !== undefined) yield { outcome, status, count };
    }
  }
}
