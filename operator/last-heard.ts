/** It is there and said nothing in time. */
export const SILENT = 'silent';

/** Times in a row that somebody may be silent: a machine that is busy for a moment is no news, and a process that hangs is. */
const SILENCES = 3;

/** What somebody said last, as far as it still holds. */
export interface Heard<Said> {
  readonly said: Said | undefined;
  /** Times in a row that nothing was said since. */
  readonly silences: number;
}

export const NOTHING_HEARD = { said: undefined, silences: 0 } as const;

/** What holds after somebody was asked once more. Undefined: it does not serve, so what it said holds no longer. */
export function lastHeard<Said>(before: Heard<Said>, answer: Said | typeof SILENT | undefined): Heard<Said> {
  if (answer !== SILENT) return { said: answer, silences: 0 };
  const silences = before.silences + 1;
  return { said: silences < SILENCES ? before.said : undefined, silences };
}
