import { describe, expect, it } from '@jest/globals';
import { BoundedMap } from './bounded-map.ts';

describe('BoundedMap', () => {
  it('drops the entry that was set first, and counts an entry that is set again as the newest', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
    expect([...map]).toEqual([
      ['a', 3],
      ['c', 4],
    ]);
  });
});
