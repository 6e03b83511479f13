import { describe, expect, it } from '@jest/globals';
import { SESSIONS_PER_USER } from '../bounds.ts';
import { atOnce, codeOf, link, linkOf, logIn, LONG, type Opened, OVER, sessionOf, SHORT } from './opened.contract.ts';

const code = (id: string, sub = 'ann', lifespan = LONG) => ({ id, row: codeOf(sub), lifespan });

export function loginsContract(storage: () => Opened): void {
  describe('end of a login', () => {
    it('stores its links and its code together', async () => {
      const { one, two } = storage();
      const login = { sub: 'ann', links: { git: linkOf('ann1') }, code: code('c1'), lifespan: LONG };
      expect(await one.finishLogin(login)).toEqual({ outcome: 'stored' });
      expect(await two.getCode('c1')).toEqual(codeOf('ann'));
      expect(await two.linksOf('ann')).toEqual({ git: linkOf('ann1') });
      expect(await two.getLink('ann', 'git')).toEqual(linkOf('ann1'));
    });

    it('stores nothing when another account is linked at one of the providers', async () => {
      const { one, two } = storage();
      await link(one, 'ann', { git: linkOf('ann1') });
      const links = { chat: linkOf('ann'), git: linkOf('eve1') };
      const finished = await two.finishLogin({ sub: 'ann', links, code: code('c1'), lifespan: LONG });
      expect(finished).toEqual({ outcome: 'conflict', provider: 'git' });
      expect(await one.linksOf('ann')).toEqual({ git: linkOf('ann1') });
      expect(await one.getCode('c1')).toBeUndefined();
    });

    it('treats an account without a name as another account', async () => {
      const { one } = storage();
      await link(one, 'ann', { git: linkOf('ann1') });
      expect(await link(one, 'ann', { git: linkOf(undefined) })).toEqual({ outcome: 'conflict', provider: 'git' });
    });

    it('pins the first name of an account', async () => {
      const { one } = storage();
      await link(one, 'ann', { git: linkOf(undefined) });
      expect(await link(one, 'ann', { git: linkOf('ann1') })).toEqual({ outcome: 'stored' });
      expect(await link(one, 'ann', { git: linkOf('ann2') })).toEqual({ outcome: 'conflict', provider: 'git' });
    });

    it('replaces the link of the same account and increases its stored version', async () => {
      const { one } = storage();
      await link(one, 'ann', { git: linkOf('ann1', { version: 7 }), chat: linkOf('ann') });
      await link(one, 'ann', { git: linkOf('ann1', { sealed: 'k2.iv.new', version: 1 }) });
      expect(await one.linksOf('ann')).toEqual({
        git: linkOf('ann1', { sealed: 'k2.iv.new', version: 2 }),
        chat: linkOf('ann'),
      });
    });

    it('accepts another account after the link was removed', async () => {
      const { one, two } = storage();
      await link(one, 'ann', { git: linkOf('ann1'), chat: linkOf('ann') });
      await two.unlink('ann', 'git');
      expect(await link(one, 'ann', { git: linkOf('ann2') })).toEqual({ outcome: 'stored' });
      expect(await one.linksOf('ann')).toEqual({ git: linkOf('ann2'), chat: linkOf('ann') });
    });

    it('stores nothing when a link that it depends on is missing or has another time', async () => {
      const { one, two } = storage();
      const rests = (linked_at: number, id: string) =>
        two.finishLogin({
          sub: 'ann',
          links: { chat: linkOf('ann') },
          code: code(id),
          lifespan: LONG,
          expects: { git: linked_at },
        });
      await link(one, 'ann', { git: linkOf('ann1', { linked_at: 1_800_000_000_123 }) });
      expect(await rests(1_800_000_000_124, 'c1')).toEqual({ outcome: 'changed' });
      expect(Object.keys(await one.linksOf('ann'))).toEqual(['git']);
      expect(await rests(1_800_000_000_123, 'c2')).toEqual({ outcome: 'stored' });
      await one.endUser('ann');
      expect(await rests(1_800_000_000_123, 'c3')).toEqual({ outcome: 'changed' });
      expect(await one.linksOf('ann')).toEqual({});
      for (const id of ['c1', 'c3']) expect(await one.getCode(id)).toBeUndefined();
    });

    it('accepts one of several accounts that are linked concurrently', async () => {
      let next = 0;
      const finished = await atOnce(storage(), 10, (each) => {
        next += 1;
        return link(each, 'ann', { git: linkOf(`ann${next}`) });
      });
      expect(finished.filter(({ outcome }) => outcome === 'stored')).toHaveLength(1);
    });

    it('keeps the links of users apart', async () => {
      const { one } = storage();
      await link(one, 'ann', { git: linkOf('ann1') });
      expect(await link(one, 'bob', { git: linkOf('bob1') })).toEqual({ outcome: 'stored' });
      expect(await one.linksOf('ann')).toEqual({ git: linkOf('ann1') });
      expect(await one.getLink('bob', 'chat')).toBeUndefined();
      expect(await one.linksOf('eve')).toEqual({});
    });

    it('accepts provider names that are members of every object', async () => {
      const { one } = storage();
      await link(one, 'ann', { constructor: linkOf('ann1') });
      expect(await one.getLink('ann', 'constructor')).toEqual(linkOf('ann1'));
      expect(await one.getLink('ann', 'toString')).toBeUndefined();
    });

    it('forgets expired links', async () => {
      const { one, two, pass } = storage();
      await link(one, 'ann', { git: linkOf('ann1') }, SHORT);
      await pass(OVER);
      expect(await two.linksOf('ann')).toEqual({});
      expect(await two.getLink('ann', 'git')).toBeUndefined();
      expect((await two.sizes()).links).toBe(0);
      expect(await two.secretsInUse()).toEqual({});
    });

    it('never shortens the life of a link', async () => {
      const { one, pass } = storage();
      await link(one, 'ann', { git: linkOf('ann1') });
      await link(one, 'ann', { chat: linkOf('ann') }, SHORT);
      await pass(OVER);
      expect(Object.keys(await one.linksOf('ann')).sort()).toEqual(['chat', 'git']);
    });
  });

  describe('authorization code', () => {
    it('creates a session for one of ten concurrent calls', async () => {
      const { one, now } = storage();
      await one.finishLogin({ sub: 'ann', links: {}, code: code('c1'), lifespan: LONG });
      const keys: string[] = [];
      const redeemed = await atOnce(storage(), 10, (each) => {
        const key = `s${keys.push('') - 1}`;
        return each.redeemCode('c1', { key, row: sessionOf('ann', now()), lifespan: LONG });
      });
      expect(redeemed.filter(({ outcome }) => outcome === 'redeemed')).toHaveLength(1);
      const winner = `s${redeemed.findIndex(({ outcome }) => outcome === 'redeemed')}`;
      expect(await one.sessionsOf('ann')).toEqual([winner]);
      const losers = redeemed.filter(({ outcome }) => outcome !== 'redeemed');
      expect(losers).toEqual(Array.from({ length: 9 }, () => ({ outcome: 'replayed', session: winner })));
    });

    it('stays valid after it is read', async () => {
      const { one, two, now } = storage();
      await one.finishLogin({ sub: 'ann', links: {}, code: code('c1'), lifespan: LONG });
      await two.getCode('c1');
      const session = { key: 's1', row: sessionOf('ann', now()), lifespan: LONG };
      expect(await one.redeemCode('c1', session)).toEqual({ outcome: 'redeemed' });
      expect(await two.getCode('c1')).toEqual(codeOf('ann'));
    });

    it('stays unused until it is redeemed', async () => {
      const { one, two, now } = storage();
      expect(await one.isCodeUnused('c1')).toBe(false);
      await one.finishLogin({ sub: 'ann', links: {}, code: code('c1'), lifespan: LONG });
      expect(await two.isCodeUnused('c1')).toBe(true);
      await one.redeemCode('c1', { key: 's1', row: sessionOf('ann', now()), lifespan: LONG });
      expect(await two.isCodeUnused('c1')).toBe(false);
    });

    it('fails as unknown when it never existed or has expired', async () => {
      const { one, now, pass } = storage();
      const session = { key: 's1', row: sessionOf('ann', now()), lifespan: LONG };
      expect(await one.redeemCode('c1', session)).toEqual({ outcome: 'unknown' });
      await one.finishLogin({ sub: 'ann', links: {}, code: code('c2', 'ann', SHORT), lifespan: LONG });
      await pass(OVER);
      expect(await one.redeemCode('c2', session)).toEqual({ outcome: 'unknown' });
      expect(await one.getCode('c2')).toBeUndefined();
      expect(await one.getSession('s1')).toBeUndefined();
      expect(await one.sessionsOf('ann')).toEqual([]);
    });

    it('stays known as used after its session has ended, until it expires', async () => {
      const { one, two, now, pass } = storage();
      await one.finishLogin({ sub: 'ann', links: {}, code: code('c1', 'ann', 400), lifespan: LONG });
      const session = { key: 's1', row: sessionOf('ann', now()), lifespan: LONG };
      await one.redeemCode('c1', session);
      await one.endSession('s1');
      const again = { ...session, key: 's2' };
      expect(await two.redeemCode('c1', again)).toEqual({ outcome: 'replayed', session: 's1' });
      await pass(430);
      expect(await two.redeemCode('c1', again)).toEqual({ outcome: 'unknown' });
      expect(await two.getSession('s2')).toBeUndefined();
    });

    it('keeps the links while it is unredeemed, though the last session ends', async () => {
      const { one, two, now } = storage();
      await logIn(storage(), 's1');
      await one.finishLogin({ sub: 'ann', links: { git: linkOf('ann1') }, code: code('c2'), lifespan: LONG });
      await two.endSession('s1');
      expect(await one.linksOf('ann')).toEqual({ git: linkOf('ann1') });
      expect(await one.sessionsOf('ann')).toEqual([]);
      await one.redeemCode('c2', { key: 's2', row: sessionOf('ann', now()), lifespan: LONG });
      expect(await one.linksOf('ann')).toEqual({ git: linkOf('ann1') });
      await one.endSession('s2');
      expect(await one.linksOf('ann')).toEqual({});
    });
  });

  describe('sizes and bounds', () => {
    it('counts all sessions and links', async () => {
      const { one, two } = storage();
      await logIn(storage(), 's1');
      await logIn(storage(), 's2');
      await link(one, 'ann', { git: linkOf('ann1'), chat: linkOf('ann') });
      await link(one, 'bob', { git: linkOf('bob1') });
      expect(await two.sizes()).toEqual({ clients: 0, logins: 0, sessions: 2, links: 3 });
    });

    it('counts the sessions and links that need each secret', async () => {
      const { one, two, now } = storage();
      await logIn(storage(), 's1');
      await logIn(storage(), 's2', { row: { kid: 'k2' } });
      await link(one, 'ann', { git: linkOf('ann1', { sealed: 'k1.x.y' }), chat: linkOf('ann', { sealed: 'k3.x.y' }) });
      expect(await two.secretsInUse()).toEqual({ k1: 2, k2: 1, k3: 1 });
      await two.rotateSession('s1', { clientId: 'client-1', gen: 0, kid: 'k2', grace: 0, lifespan: LONG });
      await one.replaceLink('ann', 'git', 1, linkOf('ann1', { sealed: 'k3.x.z', linked_at: now() }));
      expect(await two.secretsInUse()).toEqual({ k2: 2, k3: 2 });
    });

    it('removes the session with the earliest end when a user exceeds the limit', async () => {
      const opened = storage();
      const { one, two, pass } = opened;
      for (let made = 0; made <= SESSIONS_PER_USER; made += 1) {
        await logIn(opened, `s${made}`, { lifespan: 2 * LONG });
        if (made === 0) await pass(5);
      }
      expect(await two.sessionsOf('ann')).toHaveLength(SESSIONS_PER_USER);
      expect(await two.getSession('s0')).toBeUndefined();
      expect(await two.getSession('s1')).toMatchObject({ sub: 'ann' });
      expect(await two.getSession(`s${SESSIONS_PER_USER}`)).toMatchObject({ sub: 'ann' });
      await one.endUser('ann');
      expect(await two.sizes()).toMatchObject({ sessions: 0 });
    });
  });
}
