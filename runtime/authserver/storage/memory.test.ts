import { describe, expect, it } from '@jest/globals';
import { codeOf, linkOf, logIn, LONG, type Opened, SHORT } from './contract/opened.contract.ts';
import { storageContract } from './contract/storage.contract.ts';
import type { MemoryBounds } from './bounds.ts';
import { createMemoryStorage } from './memory.ts';

function openMemory(bounds: Partial<MemoryBounds> = {}): Opened {
  let time = 1_700_000_000_000;
  const storage = createMemoryStorage({ now: () => time, bounds });
  return {
    one: storage,
    two: storage,
    now: () => time,
    pass: (ms) => {
      time += ms;
      return Promise.resolve();
    },
    close: () => storage.close(),
  };
}

storageContract('memory', () => openMemory());

describe('createMemoryStorage', () => {
  it('removes the least recently used session, with its links, above the limit', async () => {
    const opened = openMemory({ sessions: 2 });
    const { one } = opened;
    await logIn(opened, 's1', { sub: 'ann' });
    await one.finishLogin({ sub: 'ann', links: { git: linkOf('ann1') }, code: undefined, lifespan: LONG });
    await logIn(opened, 's2', { sub: 'bob' });
    await one.finishLogin({ sub: 'bob', links: { git: linkOf('bob1') }, code: undefined, lifespan: LONG });
    await one.rotateSession('s1', { clientId: 'client-1', gen: 0, kid: 'k1', grace: 0, lifespan: LONG });
    await logIn(opened, 's3', { sub: 'eve' });
    expect(await one.getSession('s2')).toBeUndefined();
    expect(await one.linksOf('bob')).toEqual({});
    expect(await one.getSession('s1')).toBeDefined();
    expect(await one.linksOf('ann')).toMatchObject({ git: { version: 1 } });
    expect((await one.sizes()).sessions).toBe(2);
  });

  it('limits codes, users, leases, counts and rows', async () => {
    const { one } = openMemory({ codes: 1, users: 1, leases: 1, buckets: 1, rows: 1 });
    const login = (sub: string) => ({
      sub,
      links: { git: linkOf(sub) },
      code: { id: sub, row: codeOf(sub), lifespan: LONG },
      lifespan: LONG,
    });
    await one.finishLogin(login('ann'));
    await one.finishLogin(login('bob'));
    expect(await one.getCode('ann')).toBeUndefined();
    expect(await one.getCode('bob')).toBeDefined();
    expect((await one.sizes()).links).toBe(1);
    expect(await one.lease('a', LONG)).toBeDefined();
    expect(await one.lease('b', LONG)).toBeUndefined();
    expect(await one.count('a', LONG)).toBe(1);
    expect(await one.count('b', LONG)).toBe(1);
    expect(await one.count('a', LONG)).toBe(1);
    await one.put('ticket', 'a', { sub: 'ann', provider: 'git' }, { lifespan: LONG });
    await one.put('ticket', 'b', { sub: 'ann', provider: 'git' }, { lifespan: LONG });
    expect(await one.get('ticket', 'a')).toBeUndefined();
    expect(await one.useAssertion('a', LONG)).toBe('used');
    expect(await one.useAssertion('b', LONG)).toBe('full');
    expect(await one.useAssertion('a', LONG)).toBe('replayed');
  });

  it('removes expired rows by itself', async () => {
    const { one, pass } = openMemory({ rows: 100 });
    const ticket = { sub: 'ann', provider: 'git' };
    for (let index = 0; index < 100; index += 1) await one.put('ticket', `t${index}`, ticket, { lifespan: SHORT });
    await pass(SHORT + 1);
    await one.put('ticket', 'alive', ticket, { lifespan: LONG });
    for (let index = 0; index < 99; index += 1) await one.put('ticket', `n${index}`, ticket, { lifespan: LONG });
    expect(await one.get('ticket', 'alive')).toEqual(ticket);
  });
});
