/** The result of a probe when the runtime accepts the connection and does not answer in time. */
export const NO_ANSWER = 'no-answer';

/** Consecutive unanswered probes that drop a status: a busy machine recovers before, and a hanging process does not. */
const MAX_UNANSWERED = 3;

export interface LastProbe<Answer> {
  readonly answer: Answer | undefined;
  /** Consecutive unanswered probes since the answer. */
  readonly unanswered: number;
}

export const NO_PROBE = { answer: undefined, unanswered: 0 } as const;

/** Returns the valid status after another probe. An undefined result means that the runtime does not serve, which drops the status. */
export function lastProbeOf<Answer>(
  before: LastProbe<Answer>,
  result: Answer | typeof NO_ANSWER | undefined,
): LastProbe<Answer> {
  if (result !== NO_ANSWER) return { answer: result, unanswered: 0 };
  const unanswered = before.unanswered + 1;
  return { answer: unanswered < MAX_UNANSWERED ? before.answer : undefined, unanswered };
}
