/** A runtime that accepts the connection and does not answer in time. */
export const STALE = 'silent';

/** Unanswered probes in a row that drop a status: a busy machine recovers before, and a hanging process does not. */
const SILENCES = 3;

/** The last answer while it is valid. */
export interface LastProbe<Said> {
  readonly said: Said | undefined;
  /** Unanswered probes in a row since then. */
  readonly silences: number;
}

export const NO_PROBE = { said: undefined, silences: 0 } as const;

/** Returns the valid status after another probe. An undefined answer means that the runtime does not serve, which drops the status. */
export function lastProbeOf<Said>(before: LastProbe<Said>, answer: Said | typeof STALE | undefined): LastProbe<Said> {
  if (answer !== STALE) return { said: answer, silences: 0 };
  const silences = before.silences + 1;
  return { said: silences < SILENCES ? before.said : undefined, silences };
}
