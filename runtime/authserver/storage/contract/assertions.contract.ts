import { describe, expect, it } from '@jest/globals';
import { LONG, type Opened, OVER, sessionOf, SHORT } from './opened.contract.ts';

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

  describe('session of a slot', () => {
    const held = (key: string, now: number, changes = {}, lifespan = LONG) => ({
      ...{ slot: 'slot', key, lifespan },
      row: sessionOf('robot', now, { ends_at: now + lifespan, ...changes }),
    });

    it('serves all concurrent grants', async () => {
      const { one, two, now } = storage();
      const keys = await Promise.all(
        [one, two, one, two].map((each, index) => each.holdSession(held(`k${index}`, now()))),
      );
      expect(new Set(keys).size).toBe(1);
      expect(await one.sessionsOf('robot')).toEqual([keys[0]]);
    });

    it('gets the row of the latest grant and lives on', async () => {
      const { one, two, now, pass } = storage();
      await one.holdSession(held('k1', now(), {}, SHORT));
      const later = held('k2', now(), { scope: ['mcp'] });
      expect(await two.holdSession(later)).toBe('k1');
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
      expect(await one.holdSession(held('k2', now(), {}, SHORT))).toBe('k2');
      await two.endUser('robot');
      expect(await one.holdSession(held('k3', now(), {}, SHORT))).toBe('k3');
      await pass(OVER);
      expect(await one.getSession('k3')).toBeUndefined();
      expect(await one.holdSession(held('k4', now()))).toBe('k4');
    });
  });
}
