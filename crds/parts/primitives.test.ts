import { describe, expect, it } from '@jest/globals';
import { Milliseconds } from '#crds/parts/primitives';

describe('durations', () => {
  it.each([
    ['30s', 30_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['7d', 604_800_000],
  ])('reads %s as %d ms', (text, expected) => {
    expect(Milliseconds.parse(text)).toBe(expected);
  });

  it.each(['', '5', 's', '-1s', '1.5h', '1h 30m'])('refuses %p', (text) => {
    expect(Milliseconds.safeParse(text).success).toBe(false);
  });
});
