import { describe, expect, it } from '@jest/globals';
import { type Entry, InFlight } from './in-flight.ts';

class Call implements Entry {
  earlier: this | undefined;
  later: this | undefined;
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

const names = (list: InFlight<Call>) => list.all().map(({ name }) => name);

describe('InFlight', () => {
  const [a, b, c] = [new Call('a'), new Call('b'), new Call('c')];

  it('lists entries in the order of their addition, after any removal', () => {
    const list = new InFlight<Call>();
    for (const call of [a, b, c]) list.add(call);
    expect(names(list)).toEqual(['a', 'b', 'c']);
    list.delete(b);
    expect(names(list)).toEqual(['a', 'c']);
    list.add(b);
    list.delete(a);
    expect(names(list)).toEqual(['c', 'b']);
    list.delete(b);
    list.delete(c);
    expect(names(list)).toEqual([]);
    expect(list.size).toBe(0);
  });

  it('counts an entry once, and removes it once', () => {
    const list = new InFlight<Call>();
    list.add(a);
    list.add(a);
    expect(list.size).toBe(1);
    expect(list.has(a)).toBe(true);
    list.delete(a);
    list.delete(a);
    expect(list.size).toBe(0);
    expect(list.has(a)).toBe(false);
  });

  it('clears the links of a removed entry', () => {
    const list = new InFlight<Call>();
    for (const call of [a, b, c]) list.add(call);
    list.delete(b);
    expect([b.earlier, b.later]).toEqual([undefined, undefined]);
    list.delete(a);
    list.delete(c);
    expect([a, c].map(({ earlier, later }) => earlier ?? later)).toEqual([undefined, undefined]);
  });
});
