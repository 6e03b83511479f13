import { describe, expect, it } from '@jest/globals';
import { KeptBytes } from './kept-bytes.ts';

const MEBIBYTE = 1_048_576;

describe('bytes that are kept', () => {
  it('have one bound for all, and make room when they are let go', () => {
    const all = new KeptBytes(10 * MEBIBYTE);
    const [a, b] = [{ kept: 0 }, { kept: 0 }];
    expect(all.tell(a, 6 * MEBIBYTE)).toBe(true);
    expect(all.tell(b, 6 * MEBIBYTE)).toBe(false);
    expect(all.tell(b, 4 * MEBIBYTE)).toBe(true);
    expect(all.tell(a, 7 * MEBIBYTE)).toBe(false);
    expect(all.tell(a, 0)).toBe(true);
    expect(all.tell(b, 10 * MEBIBYTE)).toBe(true);
  });

  it('do not count where they are few', () => {
    const all = new KeptBytes(MEBIBYTE);
    for (let i = 0; i < 100; i++) expect(all.tell({ kept: 0 }, MEBIBYTE)).toBe(true);
  });
});
