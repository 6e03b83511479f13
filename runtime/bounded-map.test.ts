import { describe, expect, it } from '@jest/globals';
import { BoundedMap } from './bounded-map.ts';

describe('a bounded map', () => {
  it('lets the entry go that was set first; one that is set anew is the youngest', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
    expect([...map]).toEqual([
      ['a', 3],
      ['c', 4],
    ]);
  });
});
