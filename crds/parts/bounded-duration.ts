import { Duration, millisecondsOf } from './primitives.ts';
import { withRules } from './rule.ts';

/** Returns the schema of a duration with inclusive bounds. CEL knows no days, so only the refinement measures a duration with `d`. */
export function durationBetween(least: string, most: string) {
  return withRules(Duration, {
    at: [],
    message: `out of range; write a duration from ${least} to ${most}`,
    // For a text that is no duration, only its form is reported.
    holds: (value) =>
      !Duration.safeParse(value).success ||
      (millisecondsOf(value) >= millisecondsOf(least) && millisecondsOf(value) <= millisecondsOf(most)),
    cel: `self.contains('d') || (duration(self) >= duration('${least}') && duration(self) <= duration('${inHours(most)}'))`,
  });
}

export const Deadline = durationBetween('1ms', '24h');

function inHours(duration: string): string {
  return duration.replace(/(\d+)d/g, (_, days: string) => `${Number(days) * 24}h`);
}
