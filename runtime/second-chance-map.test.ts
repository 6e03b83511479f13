import { describe, expect, it } from '@jest/globals';
import { SecondChanceMap } from './second-chance-map.ts';

describe('a map with a second chance', () => {
  const entry = () => ({ used: false });

  it('forgets what was not used first, and what was used only after all others had their turn', () => {
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

  it('makes room where all were used, and needs none for a key that is there', () => {
    const map = new SecondChanceMap<string, { used: boolean }>(2);
    map.set('a', { used: true }).set('b', { used: true });
    map.set('a', { used: true });
    expect(map.size).toBe(2);
    map.set('c', entry());
    expect([...map.keys()]).toEqual(['a', 'c']);
  });

  it('forgets what is too many when it becomes smaller, first what was not used, and has more room when it grows', () => {
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
