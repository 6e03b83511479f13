import { describe, expect, it } from '@jest/globals';
import { SecondChanceMap } from './second-chance-map.ts';

describe('SecondChanceMap', () => {
  const entry = () => ({ used: false });

  it('evicts unused entries first, and a used entry only after all others had a second chance', () => {
    const forgotten: unknown[] = [];
    const map = new SecondChanceMap<string, { used: boolean }>(2, (value) => forgotten.push(value));
    const [a, b] = [entry(), entry()];
    map.set('a', a).set('b', b);
    a.used = true;
    map.set('c', entry());
    expect([...map.keys()]).toEqual(['a', 'c']);
    expect(forgotten).toEqual([b]);
    expect(a.used).toBe(false);
    map.set('d', entry());
    expect([...map.keys()]).toEqual(['c', 'd']);
  });

  it('evicts an entry if all were used, and none for an existing key', () => {
    const map = new SecondChanceMap<string, { used: boolean }>(2);
    map.set('a', { used: true }).set('b', { used: true });
    map.set('a', { used: true });
    expect(map.size).toBe(2);
    map.set('c', entry());
    expect([...map.keys()]).toEqual(['a', 'c']);
  });

  it('evicts unused entries first when it shrinks, and accepts more entries when it grows', () => {
    const forgotten: unknown[] = [];
    const map = new SecondChanceMap<string, { used: boolean }>(4, (value) => forgotten.push(value));
    const [a, b, c, d] = [{ used: true }, entry(), { used: true }, entry()];
    map.set('a', a).set('b', b).set('c', c).set('d', d);
    map.resize(1);
    expect([...map.keys()]).toEqual(['c']);
    expect(forgotten).toEqual([b, d, a]);
    map.resize(2);
    map.set('e', entry());
    expect([...map.keys()]).toEqual(['c', 'e']);
  });
});
