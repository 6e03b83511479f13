import { Duration, millisecondsOf } from './primitives.ts';
import { withRules } from './rule.ts';

/**
 * A duration between two others, both included. CEL knows no days: what is written with `d` only the refinement measures.
 */
export function durationBetween(least: string, most: string) {
  return withRules(Duration, {
    at: [],
    message: `out of range; write a duration from ${least} to ${most}`,
    // Of what is no duration its form is reported, and nothing more.
    holds: (value) =>
      !Duration.safeParse(value).success ||
      (millisecondsOf(value) >= millisecondsOf(least) && millisecondsOf(value) <= millisecondsOf(most)),
    cel: `self.contains('d') || (duration(self) >= duration('${least}') && duration(self) <= duration('${inHours(most)}'))`,
  });
}

/** The longest that something may wait or last where nothing else is decided. */
export const Deadline = durationBetween('1ms', '24h');

function inHours(duration: string): string {
  return duration.replace(/(\d+)d/g, (_, days: string) => `${Number(days) * 24}h`);
}
