import { describe, expect, it } from '@jest/globals';
import { isAddressRange, Milliseconds } from '#crds/parts/primitives';

describe('Duration', () => {
  it.each([
    ['30s', 30_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['7d', 604_800_000],
    ['1.5h', 5_400_000],
    ['0.25s1.1s', 1_350],
  ])('parses %s as %d ms', (text, expected) => {
    expect(Milliseconds.parse(text)).toBe(expected);
  });

  it.each(['', '5', 's', '-1s', '1.h', '.5h', '1h 30m'])('rejects %p', (text) => {
    expect(Milliseconds.safeParse(text).success).toBe(false);
  });
});

describe('isAddressRange', () => {
  it.each(['10.0.0.0/8', '0.0.0.0/0', '192.0.2.1', '::1/128', 'fd00::/8', '::ffff:10.0.0.0/104'])(
    'accepts %s',
    (text) => {
      expect(isAddressRange(text)).toBe(true);
    },
  );

  it.each(['10.0.0.0/33', '10.0.0/8', '10.0.0.0/', 'host/8', '1.2.3.4.5/8', '::/129', ':::/8', ''])(
    'rejects "%s"',
    (text) => {
      expect(isAddressRange(text)).toBe(false);
    },
  );
});
