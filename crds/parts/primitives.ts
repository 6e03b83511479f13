import { z } from 'zod';

/** One duration: digits with a unit, several may follow each other (`1h30m`). Units: ms, s, m, h, d. */
const DURATION = /^(\d+(ms|s|m|h|d))+$/;
const MILLISECONDS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a duration string such as `30s` or `1h30m`. The string must already match the duration pattern. */
export function millisecondsOf(duration: string): number {
  let total = 0;
  for (const [, digits, unit] of duration.matchAll(/(\d+)(ms|s|m|h|d)/g)) {
    total += Number(digits) * (MILLISECONDS[unit ?? ''] ?? 0);
  }
  return total;
}

/** A duration as people write it; stays a string. */
export const Duration = z
  .string()
  .max(32)
  .regex(DURATION, 'write a duration as digits and a unit, for example 30s, 5m, 1h30m or 7d');

/** A duration string on the way in, milliseconds on the way out. */
export const Milliseconds = Duration.transform(millisecondsOf);
