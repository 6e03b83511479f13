import { describe, expect, it } from '@jest/globals';
import {
  codeOf,
  link,
  linkOf,
  logIn,
  LONG,
  type Opened,
  OVER,
  rotation,
  sessionOf,
  SHORT,
  userOf,
} from './opened.contract.ts';

export function sessionsContract(storage: () => Opened): void {
  describe('session', () => {
    it('returns the row as it was written, with generation 0', async () => {
      const { two, now } = storage();
      const row = sessionOf('ann', now());
      await logIn(storage(), 's1', { row });
      const session = await two.getSession('s1');
      expect(session).toEqual({ ...row, gen: 0, rotated_at: expect.any(Number) });
      expect(Math.abs(Number(session?.rotated_at) - now())).toBeLessThan(5_000);
      expect(await two.getSession('s2')).toBeUndefined();
    });

    it('ends after its lifespan without use', async () => {
      const { two, pass } = storage();
      await logIn(storage(), 's1', { lifespan: SHORT });
      await pass(OVER);
      expect(await two.getSession('s1')).toBeUndefined();
      expect(await two.rotateSession('s1', rotation)).toEqual({ outcome: 'unknown' });
      expect(await two.sessionsOf('ann')).toEqual([]);
      expect(await two.sizes()).toMatchObject({ sessions: 0 });
    });

    it('continues when it is used', async () => {
      const { one, two, pass } = storage();
      await logIn(storage(), 's1', { lifespan: SHORT });
      await one.rotateSession('s1', rotation);
      await pass(OVER);
      expect(await two.getSession('s1')).toMatchObject({ gen: 1 });
      expect(await two.sessionsOf('ann')).toEqual(['s1']);
    });

    it('ends at `ends_at`, however much it is used', async () => {
      const { one, two, now, pass } = storage();
      await logIn(storage(), 's0', { row: { ends_at: now() + 400 } });
      await logIn(storage(), 's1', { row: { ends_at: now() + 400 } });
      expect(await one.rotateSession('s1', rotation)).toMatchObject({ outcome: 'rotated' });
      await pass(430);
      expect(await two.getSession('s0')).toBeUndefined();
      expect(await two.getSession('s1')).toBeUndefined();
      expect(await two.sessionsOf('ann')).toEqual([]);
    });

    it('extends the lifespan of the links when it begins', async () => {
      const { one, two, pass } = storage();
      await link(one, 'ann', { git: linkOf('ann1') }, SHORT);
      await logIn(storage(), 's1');
      await pass(OVER);
      expect(await two.linksOf('ann')).toEqual({ git: linkOf('ann1') });
      expect((await two.sizes()).links).toBe(1);
    });

    it('rejects a rotation while a required provider is not linked, and changes nothing', async () => {
      const { one, two } = storage();
      // The account of a link must not be mistaken for its state.
      const tricky = linkOf('"state":"linked"');
      await link(one, 'ann', { git: linkOf('ann1'), chat: { ...tricky, state: 'needs_login' } });
      await logIn(storage(), 's1');
      const ask = (required: readonly string[], gen = 0) => two.rotateSession('s1', { ...rotation, gen, required });
      expect(await ask(['git', 'chat'])).toEqual({ outcome: 'login_needed' });
      expect(await ask(['mail'])).toEqual({ outcome: 'login_needed' });
      expect(await two.getSession('s1')).toMatchObject({ gen: 0 });
      expect(await ask(['git'])).toMatchObject({ outcome: 'rotated', session: { gen: 1 } });
      expect(await ask(['chat'])).toEqual({ outcome: 'login_needed' });
      expect(await ask([])).toMatchObject({ outcome: 'rotated', session: { gen: 1 } });
      await two.rotateSession('s1', { ...rotation, gen: 1 });
      // A token that is too old ends the session, whatever is linked.
      expect(await ask(['chat'])).toEqual({ outcome: 'replayed', sub: 'ann' });
      expect(await two.getSession('s1')).toBeUndefined();
    });

    it('changes the given fields only', async () => {
      const { one, two, now } = storage();
      const row = sessionOf('ann', now());
      await logIn(storage(), 's1', { row });
      await one.rotateSession('s1', rotation);
      const user = { ...userOf('ann'), claims: { groups: ['new'] } };
      await one.amendSession('s1', { asked_at: 5 });
      await two.amendSession('s1', { user, answered_at: 7 });
      expect(await one.getSession('s1')).toEqual({
        ...row,
        user,
        asked_at: 5,
        answered_at: 7,
        gen: 1,
        rotated_at: expect.any(Number),
      });
      await one.amendSession('s2', { user, answered_at: 7 });
      expect(await one.getSession('s2')).toBeUndefined();
    });

    it('keeps its lifespan when it is changed', async () => {
      const { one, pass } = storage();
      await logIn(storage(), 's1', { lifespan: SHORT });
      await one.amendSession('s1', { asked_at: 5 });
      await pass(OVER);
      expect(await one.getSession('s1')).toBeUndefined();
      await one.amendSession('s1', { asked_at: 5 });
      expect(await one.getSession('s1')).toBeUndefined();
    });
  });

  describe('end of sessions', () => {
    it('removes the links with the last session', async () => {
      const { one, two } = storage();
      await logIn(storage(), 's1');
      await logIn(storage(), 's2');
      await logIn(storage(), 's3', { sub: 'bob' });
      await link(one, 'ann', { git: linkOf('ann1') });
      await link(one, 'bob', { git: linkOf('bob1') });
      await one.endSession('s1');
      expect(await two.getSession('s1')).toBeUndefined();
      expect(await two.linksOf('ann')).toEqual({ git: linkOf('ann1') });
      await two.endSession('s2');
      expect(await one.linksOf('ann')).toEqual({});
      expect(await one.linksOf('bob')).toEqual({ git: linkOf('bob1') });
    });

    it('ignores expired sessions when it looks for the last one', async () => {
      const { one, two, pass } = storage();
      await logIn(storage(), 's1', { lifespan: SHORT });
      await logIn(storage(), 's2');
      await link(one, 'ann', { git: linkOf('ann1') });
      await pass(OVER);
      await two.endSession('s2');
      expect(await one.linksOf('ann')).toEqual({});
    });

    it('changes nothing for an unknown session', async () => {
      const { one } = storage();
      await link(one, 'ann', { git: linkOf('ann1') });
      await one.endSession('s1');
      expect(await one.linksOf('ann')).toEqual({ git: linkOf('ann1') });
    });

    it('removes all sessions, links and unredeemed codes of a user', async () => {
      const { one, two, now } = storage();
      await logIn(storage(), 's1');
      await logIn(storage(), 's2');
      await logIn(storage(), 's3', { sub: 'bob' });
      const waiting = { id: 'c9', row: codeOf('ann'), lifespan: LONG };
      await one.finishLogin({ sub: 'ann', links: { git: linkOf('ann1') }, code: waiting, lifespan: LONG });
      await two.endUser('ann');
      expect(await one.getSession('s1')).toBeUndefined();
      expect(await one.getSession('s2')).toBeUndefined();
      expect(await one.linksOf('ann')).toEqual({});
      expect(await one.sessionsOf('ann')).toEqual([]);
      const late = await one.redeemCode('c9', { key: 's4', row: sessionOf('ann', now()), lifespan: LONG });
      expect(late).toEqual({ outcome: 'unknown' });
      expect(await one.sessionsOf('bob')).toEqual(['s3']);
      expect(await one.sizes()).toMatchObject({ sessions: 1, links: 0 });
    });

    it('lists the sessions of a user', async () => {
      const { one, two } = storage();
      await logIn(storage(), 's1');
      await logIn(storage(), 's2');
      await logIn(storage(), 's3', { sub: 'bob' });
      expect([...(await two.sessionsOf('ann'))].sort()).toEqual(['s1', 's2']);
      await one.endSession('s1');
      expect(await two.sessionsOf('ann')).toEqual(['s2']);
    });
  });
}
