import { describe, expect, it } from '@jest/globals';
import { allocatePorts, type Allocations, candidatePorts, portOfSlot, privatePortOfSlot } from '#local/allocate-ports';

const none: Allocations = { slots: {}, privatePlaces: {}, backendPlaces: {}, uids: {} };
const portsOf = ({ slots, privatePlaces }: Allocations, name: string) => ({
  port: portOfSlot(slots[name]!),
  privatePort: privatePortOfSlot(privatePlaces[name]!),
});
const makeUid = () => 'made';
const servers = (...names: string[]) => names.map((name) => ({ name }));

describe('allocatePorts', () => {
  it('assigns 4483 and 24484, then 4493 and 24485, then 4503 and 24486', () => {
    const given = allocatePorts(none, servers('d/a', 'd/b', 'd/c'), []);
    expect(['d/a', 'd/b', 'd/c'].map((name) => portsOf(given, name))).toEqual([
      { port: 4483, privatePort: 24_484 },
      { port: 4493, privatePort: 24_485 },
      { port: 4503, privatePort: 24_486 },
    ]);
  });

  it('assigns only a uid to a server that does not listen', () => {
    const given = allocatePorts(none, [{ name: 'd/a', listens: false }, { name: 'd/b' }], [], {
      busy: () => false,
      makeUid,
    });
    expect(given.uids).toEqual({ 'd/a': 'made', 'd/b': 'made' });
    expect([given.slots, given.privatePlaces]).toEqual([{ 'd/b': 0 }, { 'd/b': 0 }]);
  });

  it('keeps the numbers of a server when other servers are added or removed', () => {
    const before = allocatePorts(none, servers('d/a', 'd/b'), []);
    const after = allocatePorts(before, servers('d/0', 'd/b'), []);
    expect(after.slots['d/b']).toBe(before.slots['d/b']);
    expect(after.uids['d/b']).toBe(before.uids['d/b']);
    expect(after.slots['d/0']).toBe(0);
  });

  it('keeps the uid of a server that was removed and added again', () => {
    const before = allocatePorts(none, servers('d/a'), []);
    const after = allocatePorts(allocatePorts(before, [], []), servers('d/a'), []);
    expect(after.uids['d/a']).toBe(before.uids['d/a']);
  });

  it('remembers the uids of the last thousand removed servers', () => {
    const names = Array.from({ length: 1500 }, (_, index) => `d/s${index}`);
    const { uids } = names.reduce(
      (before, name) => allocatePorts(before, servers(name), [], { busy: () => false, makeUid }),
      none,
    );
    expect(Object.keys(uids)).toEqual(names.slice(-1001).reverse());
  });

  it('never assigns a port that another resource claims', () => {
    const given = allocatePorts(
      none,
      [{ name: 'd/a' }, { name: 'd/b', claims: 4483 }],
      [{ name: 'd/x', claims: 24_484 }],
    );
    expect(portsOf(given, 'd/a')).toEqual({ port: 4493, privatePort: 24_485 });
  });

  it('moves a port when another resource starts to claim it', () => {
    const before = allocatePorts(none, servers('d/a'), []);
    const after = allocatePorts(before, [{ name: 'd/a' }, { name: 'd/b', claims: 4483 }], []);
    expect(portsOf(after, 'd/a').port).toBe(4493);
  });

  it('keeps the port of a running endpoint when another resource starts to claim it', () => {
    const before = allocatePorts(none, servers('d/a'), []);
    const asking = [{ name: 'd/a' }, { name: 'd/b', claims: 4483 }];
    const runs = (port: number, name: string) => port === 4483 && name === 'd/a';
    expect(portsOf(allocatePorts(before, asking, [], { busy: () => false, makeUid, runs }), 'd/a').port).toBe(4483);
  });

  it('assigns each backend its own port', () => {
    const { backendPlaces } = allocatePorts(
      none,
      [],
      [{ name: 'd/x' }, { name: 'd/y' }, { name: 'd/z', claims: 14_483 }],
    );
    expect(backendPlaces['d/x']).toBe(1);
    expect(backendPlaces['d/y']).toBe(2);
  });

  it('avoids the ports of other programs, but keeps a public port that it assigned before', () => {
    const busy = (port: number) => [4483, 24_484, 14_483].includes(port);
    const first = allocatePorts(none, servers('d/a'), servers('d/x'), { busy, makeUid });
    expect(portsOf(first, 'd/a')).toEqual({ port: 4493, privatePort: 24_485 });
    expect(first.backendPlaces['d/x']).toBe(1);
    const before = allocatePorts(none, servers('d/a'), []);
    expect(portsOf(allocatePorts(before, servers('d/a'), [], { busy, makeUid, starting: true }), 'd/a')).toEqual({
      port: 4483,
      privatePort: 24_485,
    });
  });
});

describe('allocatePorts for private ports', () => {
  const busy = (port: number) => port === 24_484;

  it('keeps the private port of each workload while others are created, in any order', () => {
    const names = ['d/f', 'd/e', 'd/d', 'd/c', 'd/b', 'd/a'];
    const seen = new Map<string, number>();
    let given = none;
    names.forEach((_, count) => {
      const present = names.slice(0, count + 1).sort();
      given = allocatePorts(given, servers(...present), [], { busy, makeUid });
      for (const name of present) {
        const { privatePort } = portsOf(given, name);
        expect([name, seen.get(name) ?? privatePort]).toEqual([name, privatePort]);
        seen.set(name, privatePort);
      }
    });
    expect(new Set(seen.values()).size).toBe(6);
  });

  it('keeps a private port while processes run, even when another resource claims it', () => {
    const before = allocatePorts(none, servers('d/a'), []);
    const asking = [{ name: 'd/a' }, { name: 'd/b', claims: 24_484 }];
    expect(portsOf(allocatePorts(before, asking, []), 'd/a').privatePort).toBe(24_484);
    const restarted = allocatePorts(before, asking, [], { busy: () => false, makeUid, starting: true });
    expect(portsOf(restarted, 'd/a').privatePort).toBe(24_485);
  });

  it('moves the private port of the one workload that lost it', () => {
    const before = allocatePorts(none, servers('d/a', 'd/b'), servers('d/x'));
    const lost = { name: 'd/a', port: 24_484 };
    const after = allocatePorts(before, servers('d/a', 'd/b'), servers('d/x'), { busy, makeUid, lost });
    expect([portsOf(after, 'd/a').privatePort, portsOf(after, 'd/b').privatePort]).toEqual([24_486, 24_485]);
    const other = allocatePorts(before, servers('d/a', 'd/b'), servers('d/x'), {
      busy: (port) => port === 14_483,
      makeUid,
      lost: { name: 'd/x', port: 14_483 },
    });
    expect([other.backendPlaces['d/x'], portsOf(other, 'd/a')]).toEqual([1, portsOf(before, 'd/a')]);
  });
});

describe('candidatePorts', () => {
  const given = allocatePorts(none, [{ name: 'd/a' }, { name: 'd/b', claims: 4503 }], servers('d/x'));
  const asked = (starting: boolean) =>
    candidatePorts(given, [{ name: 'd/a' }, { name: 'd/b', claims: 4503 }], servers('d/x'), starting);

  it('leaves out ports that processes of the folder may bind soon', () => {
    for (const port of [4483, 4503, 24_484, 24_485, 14_483]) expect(asked(false)).not.toContain(port);
    expect(asked(false)).toEqual(expect.arrayContaining([4513, 24_486, 14_484]));
  });

  it('returns all ports before the first process is started', () => {
    expect(asked(true)).toEqual(expect.arrayContaining([4483, 24_484, 14_483]));
  });
});
