import { describe, expect, it } from '@jest/globals';
import { allot, type Allotments, portOfSlot, privatePortOfSlot } from '#operator/local/allotments';

const none: Allotments = { slots: {}, privateSlots: {}, backendPlaces: {}, uids: {} };
const portsOf = ({ slots, privateSlots }: Allotments, name: string) => ({
  port: portOfSlot(slots[name]!),
  privatePort: privatePortOfSlot(privateSlots[name]!),
});
const makeUid = () => 'made';
const servers = (...names: string[]) => names.map((name) => ({ name }));

describe('what a server is given', () => {
  it('is 4483 and 4484, then 4493 and 4494, then 4503 and 4504', () => {
    const given = allot(none, servers('d/a', 'd/b', 'd/c'), []);
    expect(['d/a', 'd/b', 'd/c'].map((name) => portsOf(given, name))).toEqual([
      { port: 4483, privatePort: 4484 },
      { port: 4493, privatePort: 4494 },
      { port: 4503, privatePort: 4504 },
    ]);
  });

  it('is an identity alone where nothing of it listens', () => {
    const given = allot(none, [{ name: 'd/a', listens: false }, { name: 'd/b' }], [], { busy: () => false, makeUid });
    expect(given.uids).toEqual({ 'd/a': 'made', 'd/b': 'made' });
    expect([given.slots, given.privateSlots]).toEqual([{ 'd/b': 0 }, { 'd/b': 0 }]);
  });

  it('stays the same when servers come and go', () => {
    const before = allot(none, servers('d/a', 'd/b'), []);
    const after = allot(before, servers('d/0', 'd/b'), []);
    expect(after.slots['d/b']).toBe(before.slots['d/b']);
    expect(after.uids['d/b']).toBe(before.uids['d/b']);
    expect(after.slots['d/0']).toBe(0);
  });

  it('keeps the identity of a server that was away', () => {
    const before = allot(none, servers('d/a'), []);
    const after = allot(allot(before, [], []), servers('d/a'), []);
    expect(after.uids['d/a']).toBe(before.uids['d/a']);
  });

  it('is remembered for the thousand that went last', () => {
    const names = Array.from({ length: 1500 }, (_, index) => `d/s${index}`);
    const { uids } = names.reduce(
      (before, name) => allot(before, servers(name), [], { busy: () => false, makeUid }),
      none,
    );
    expect(Object.keys(uids)).toEqual(names.slice(-1001).reverse());
  });

  it('never is a port that another resource asks for', () => {
    const given = allot(none, [{ name: 'd/a' }, { name: 'd/b', claims: 4483 }], [{ name: 'd/x', claims: 4494 }]);
    expect(portsOf(given, 'd/a')).toEqual({ port: 4493, privatePort: 4504 });
  });

  it('has the private port beside the port that its own resource asks for', () => {
    expect(portsOf(allot(none, [{ name: 'd/a', claims: 4483 }], []), 'd/a').privatePort).toBe(4484);
  });

  it('moves away when another resource starts to ask for that port', () => {
    const before = allot(none, servers('d/a'), []);
    const after = allot(before, [{ name: 'd/a' }, { name: 'd/b', claims: 4483 }], []);
    expect(portsOf(after, 'd/a').port).toBe(4493);
  });

  it('is a port of its own for each backend', () => {
    const { backendPlaces } = allot(none, [], [{ name: 'd/x' }, { name: 'd/y' }, { name: 'd/z', claims: 14_483 }]);
    expect(backendPlaces['d/x']).toBe(1);
    expect(backendPlaces['d/y']).toBe(2);
  });

  it('avoids what other programs have, but a public port that was given once stays', () => {
    const busy = (port: number) => [4483, 4484, 14_483].includes(port);
    const first = allot(none, servers('d/a'), servers('d/x'), { busy, makeUid });
    expect(portsOf(first, 'd/a')).toEqual({ port: 4493, privatePort: 4494 });
    expect(first.backendPlaces['d/x']).toBe(1);
    const before = allot(none, servers('d/a'), []);
    expect(portsOf(allot(before, servers('d/a'), [], { busy, makeUid }), 'd/a')).toEqual({
      port: 4483,
      privatePort: 4494,
    });
  });
});
