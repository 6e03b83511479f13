import { describe, expect, it } from '@jest/globals';
import { atOnce, link, linkOf, logIn, type Opened, OVER, rotation, SHORT, userOf } from './opened.contract.ts';

export function rotationContract(storage: () => Opened): void {
  describe('rotation', () => {
    it('increases the generation and stores the secret that makes the successor', async () => {
      const { one, two } = storage();
      await logIn(storage(), 's1');
      const rotated = await one.rotateSession('s1', { ...rotation, kid: 'k2' });
      expect(rotated).toEqual({ outcome: 'rotated', session: await two.getSession('s1') });
      expect(rotated).toMatchObject({ session: { gen: 1, kid: 'k2', sub: 'ann' } });
      expect(await two.rotateSession('s1', { ...rotation, gen: 1 })).toMatchObject({ session: { gen: 2, kid: 'k1' } });
    });

    it('returns the whole row to a caller with a cached one, including changes of another process', async () => {
      const { one, two } = storage();
      await logIn(storage(), 's1');
      const known = await one.getSession('s1');
      const rotated = await one.rotateSession('s1', { ...rotation, known });
      expect(rotated).toEqual({ outcome: 'rotated', session: await two.getSession('s1') });
      expect(await two.rotateSession('s1', { ...rotation, kid: 'k9', known })).toEqual(rotated);
      const user = { ...userOf('ann'), claims: { groups: ['new'] } };
      await two.amendSession('s1', { user, answered_at: 7 });
      const next = await one.rotateSession('s1', { ...rotation, gen: 1, known });
      expect(next).toEqual({ outcome: 'rotated', session: await two.getSession('s1') });
      expect(next).toMatchObject({ session: { gen: 2, user: { claims: { groups: ['new'] } }, answered_at: 7 } });
    });

    it('returns one successor to twenty concurrent calls', async () => {
      await logIn(storage(), 's1');
      let next = 0;
      const rotated = await atOnce(storage(), 20, (each) => {
        next += 1;
        return each.rotateSession('s1', { ...rotation, kid: `k${next}` });
      });
      const [first] = rotated;
      expect(first).toMatchObject({ outcome: 'rotated', session: { gen: 1 } });
      for (const other of rotated) expect(other).toEqual(first);
    });

    it('returns the same successor within the grace period', async () => {
      const { one, two, pass } = storage();
      await logIn(storage(), 's1');
      const first = await one.rotateSession('s1', rotation);
      await pass(20);
      expect(await two.rotateSession('s1', { ...rotation, kid: 'k9' })).toEqual(first);
    });

    it('ends the session when the former generation comes after the grace period', async () => {
      const { one, two, pass } = storage();
      await logIn(storage(), 's1');
      await logIn(storage(), 's2');
      await link(one, 'ann', { git: linkOf('ann1') });
      await one.rotateSession('s1', rotation);
      await pass(OVER);
      const replayed = await two.rotateSession('s1', { ...rotation, grace: SHORT });
      expect(replayed).toEqual({ outcome: 'replayed', sub: 'ann' });
      expect(await one.getSession('s1')).toBeUndefined();
      expect(await one.sessionsOf('ann')).toEqual(['s2']);
      expect(await one.linksOf('ann')).toEqual({ git: linkOf('ann1') });
      expect(await one.rotateSession('s1', { ...rotation, gen: 1 })).toEqual({ outcome: 'unknown' });
    });

    it('ends the session, and the links with the last one, for an older generation even within the grace', async () => {
      const { one, two } = storage();
      await logIn(storage(), 's1');
      await link(one, 'ann', { git: linkOf('ann1') });
      await one.rotateSession('s1', rotation);
      await one.rotateSession('s1', { ...rotation, gen: 1 });
      expect(await two.rotateSession('s1', rotation)).toEqual({ outcome: 'replayed', sub: 'ann' });
      expect(await one.getSession('s1')).toBeUndefined();
      expect(await one.linksOf('ann')).toEqual({});
    });

    it('continues from a generation ahead of the stored one', async () => {
      const { one, two } = storage();
      await logIn(storage(), 's1');
      expect(await one.rotateSession('s1', { ...rotation, gen: 3 })).toMatchObject({ session: { gen: 4 } });
      expect(await two.rotateSession('s1', { ...rotation, gen: 3 })).toMatchObject({ session: { gen: 4 } });
      expect(await one.getSession('s1')).toMatchObject({ gen: 4 });
    });

    it('rejects another client without a change to the session', async () => {
      const { one } = storage();
      await logIn(storage(), 's1');
      await one.rotateSession('s1', rotation);
      await one.rotateSession('s1', { ...rotation, gen: 1 });
      const foreign = { ...rotation, clientId: 'client-2' };
      expect(await one.rotateSession('s1', foreign)).toEqual({ outcome: 'unknown' });
      expect(await one.rotateSession('s1', { ...foreign, gen: 2 })).toEqual({ outcome: 'unknown' });
      expect(await one.getSession('s1')).toMatchObject({ gen: 2 });
    });

    it('extends the lifespan of the links', async () => {
      const { one, two, pass } = storage();
      await link(one, 'ann', { git: linkOf('ann1') }, SHORT);
      await logIn(storage(), 's1', { lifespan: SHORT });
      await one.rotateSession('s1', rotation);
      await pass(OVER);
      expect(await two.linksOf('ann')).toEqual({ git: linkOf('ann1') });
    });
  });
}
