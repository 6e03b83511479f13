import { describe, expect, it } from '@jest/globals';
import type { AuthStorage, SlotSession } from '../storage.ts';
import { link, linkOf, LONG, type Opened, OVER, sessionOf, SHORT } from './opened.contract.ts';

async function hold(storage: AuthStorage, session: SlotSession): Promise<string> {
  const held = await storage.holdSession(session);
  return held.outcome === 'held' ? held.key : held.outcome;
}

export function assertionsContract(storage: () => Opened): void {
  describe('assertion', () => {
    it('counts once, for one of many processes', async () => {
      const { one, two } = storage();
      const uses = await Promise.all([one, two, one, two, one, two].map((each) => each.useAssertion('a', LONG)));
      expect(uses.sort()).toEqual(['replayed', 'replayed', 'replayed', 'replayed', 'replayed', 'used']);
      expect(await two.useAssertion('b', LONG)).toBe('used');
    });

    it('stays known until it expires', async () => {
      const { one, two, pass } = storage();
      await one.useAssertion('a', SHORT);
      expect(await two.useAssertion('a', SHORT)).toBe('replayed');
      await pass(OVER);
      expect(await two.useAssertion('a', SHORT)).toBe('used');
    });
  });

  const held = (key: string, now: number, changes = {}, lifespan = LONG) => ({
    ...{ slot: 'slot', key, lifespan },
    row: sessionOf('robot', now, { ends_at: now + lifespan, ...changes }),
  });

  describe('session of a slot', () => {
    it('serves all concurrent grants', async () => {
      const { one, two, now } = storage();
      const keys = await Promise.all([one, two, one, two].map((each, index) => hold(each, held(`k${index}`, now()))));
      expect(new Set(keys).size).toBe(1);
      expect(await one.sessionsOf('robot')).toEqual([keys[0]]);
    });

    it('gets the row of the latest grant and lives on', async () => {
      const { one, two, now, pass } = storage();
      await one.holdSession(held('k1', now(), {}, SHORT));
      const later = held('k2', now(), { scope: ['mcp'] });
      expect(await hold(two, later)).toBe('k1');
      await pass(OVER);
      expect(await one.getSession('k1')).toEqual({
        ...{ ...later.row, gen: 0 },
        rotated_at: expect.any(Number),
      });
      expect(await one.getSession('k2')).toBeUndefined();
    });

    it('has another key after its end, so that former tokens stay invalid', async () => {
      const { one, two, now, pass } = storage();
      await one.holdSession(held('k1', now()));
      await two.endSession('k1');
      expect(await hold(one, held('k2', now(), {}, SHORT))).toBe('k2');
      await two.endUser('robot');
      expect(await hold(one, held('k3', now(), {}, SHORT))).toBe('k3');
      await pass(OVER);
      expect(await one.getSession('k3')).toBeUndefined();
      expect(await hold(one, held('k4', now()))).toBe('k4');
    });
  });

  describe('redeemed assertion', () => {
    const redeemed = (key: string, now: number, assertion = {}, changes = {}) => ({
      ...held(key, now, changes),
      assertion: { ...{ id: 'a', lifespan: LONG, issuedAt: now, revocations: [], linksLifespan: LONG }, ...assertion },
    });
    const revoke = (storage: AuthStorage, id: string, not_before: number, lifespan = LONG) =>
      storage.put('revocation', id, { not_before }, { lifespan });

    it('creates one session, for one of many processes', async () => {
      const { one, two, now } = storage();
      const keys = await Promise.all(
        [one, two, one, two].map((each, index) => hold(each, redeemed(`k${index}`, now()))),
      );
      expect(keys.filter((key) => key === 'replayed')).toHaveLength(3);
      expect(await one.sessionsOf('robot')).toEqual(keys.filter((key) => key !== 'replayed'));
      expect(await two.useAssertion('a', LONG)).toBe('replayed');
    });

    it('shares one session with assertions of the same slot', async () => {
      const { one, two, now } = storage();
      const keys = await Promise.all(
        ['a', 'b', 'c', 'd'].map((id, index) => hold(index % 2 ? one : two, redeemed(`k${index}`, now(), { id }))),
      );
      expect(new Set(keys).size).toBe(1);
      expect(keys[0]).toMatch(/^k/);
    });

    it('leaves the session as it is after a replay', async () => {
      const { one, two, now } = storage();
      await hold(one, redeemed('k1', now()));
      expect(await hold(two, redeemed('k2', now(), {}, { scope: ['more'] }))).toBe('replayed');
      expect((await one.getSession('k1'))?.scope).toEqual([]);
    });

    it('creates no session up to the time of a revocation, and stays unused', async () => {
      const { one, two, now } = storage();
      const at = Math.floor(now());
      const revocations = ['user', 'slot'];
      await revoke(two, 'slot', at);
      for (const issuedAt of [at - 1, at])
        expect(await hold(one, redeemed('k1', now(), { issuedAt, revocations }))).toBe('revoked');
      expect(await hold(one, redeemed('k1', now(), { issuedAt: at + 1, revocations }))).toBe('k1');
      await revoke(one, 'user', at + 2);
      expect(await hold(two, redeemed('k1', now(), { id: 'b', issuedAt: at + 2, revocations }))).toBe('revoked');
      expect(await hold(two, redeemed('k1', now(), { id: 'b', issuedAt: at + 2 }))).toBe('k1');
    });

    it('creates a session after the revocation has expired', async () => {
      const { one, two, now, pass } = storage();
      await revoke(one, 'user', now() + LONG, SHORT);
      expect(await hold(two, redeemed('k1', now(), { revocations: ['user'] }))).toBe('revoked');
      await pass(OVER);
      expect(await hold(two, redeemed('k1', now(), { revocations: ['user'] }))).toBe('k1');
    });

    it('keeps revocations at the capacity', async () => {
      const { one, two } = storage();
      const options = { lifespan: LONG, capacity: 1 };
      expect(await one.put('revocation', 'a', { not_before: 1 }, options)).toBe(true);
      expect(await two.put('revocation', 'b', { not_before: 1 }, options)).toBe(false);
      expect(await two.put('revocation', 'a', { not_before: 2 }, options)).toBe(true);
      expect(await one.get('revocation', 'a')).toEqual({ not_before: 2 });
    });

    it('extends the links of the user beyond the session', async () => {
      const { one, two, now, pass } = storage();
      await link(one, 'robot', { git: linkOf('robot') }, SHORT);
      await hold(two, { ...redeemed('k1', now()), lifespan: SHORT });
      await pass(OVER);
      expect(await one.getSession('k1')).toBeUndefined();
      expect(Object.keys(await one.linksOf('robot'))).toEqual(['git']);
    });
  });
}
