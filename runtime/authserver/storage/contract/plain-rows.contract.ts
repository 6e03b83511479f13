import { describe, expect, it } from '@jest/globals';
import type { ClientRow } from '../rows.ts';
import { atOnce, loginOf, LONG, type Opened, OVER, SHORT, userOf } from './opened.contract.ts';

const client: ClientRow = {
  client_id: 'c1',
  client_name: 'Ed "the" Editor',
  redirect_uris: ['http://127.0.0.1/callback'],
  grant_types: [],
  scope: undefined,
  application_type: 'native',
  registered_at: 1_700_000_000_000,
};

export function plainRowsContract(storage: () => Opened): void {
  describe('plain rows', () => {
    it('returns a row as it was written, to every process', async () => {
      const { one, two, now } = storage();
      const login = loginOf('l1', now());
      const browser = { user: userOf('ann'), logged_in_at: now(), consents: [], ends_at: now() + LONG };
      expect(await one.put('client', 'c1', client, { lifespan: LONG, capacity: 10 })).toBe(true);
      expect(await one.put('login', 't1', login, { lifespan: LONG, capacity: 10 })).toBe(true);
      expect(await one.put('browser', 'b1', browser, { lifespan: LONG })).toBe(true);
      expect(await one.put('ticket', 'x1', { sub: 'ann', provider: 'git' }, { lifespan: LONG })).toBe(true);
      const answer = { sealed: 'k.iv.text', code: 'c1', variant: undefined, made_at: now() };
      expect(await one.put('answer', 'a1', answer, { lifespan: LONG })).toBe(true);
      expect(await two.get('answer', 'a1')).toEqual(answer);
      expect(await two.get('client', 'c1')).toEqual(client);
      expect(await two.get('login', 't1')).toEqual(login);
      expect(await two.get('browser', 'b1')).toEqual(browser);
      expect(await two.get('ticket', 'x1')).toEqual({ sub: 'ann', provider: 'git' });
    });

    it('keeps kinds and ids apart', async () => {
      const { one } = storage();
      await one.put('client', 'id', client, { lifespan: LONG });
      expect(await one.get('login', 'id')).toBeUndefined();
      expect(await one.get('client', 'id2')).toBeUndefined();
      expect(await one.take('ticket', 'id')).toBeUndefined();
      await one.remove('browser', 'id');
      expect(await one.get('client', 'id')).toEqual(client);
    });

    it('replaces an existing row', async () => {
      const { one } = storage();
      await one.put('client', 'c1', client, { lifespan: LONG, capacity: 1 });
      expect(await one.put('client', 'c1', { ...client, scope: 'mcp' }, { lifespan: LONG, capacity: 1 })).toBe(true);
      expect(await one.get('client', 'c1')).toEqual({ ...client, scope: 'mcp' });
    });

    it('forgets an expired row', async () => {
      const { one, two, pass } = storage();
      await one.put('ticket', 'x1', { sub: 'ann', provider: 'git' }, { lifespan: SHORT });
      await one.put('ticket', 'x2', { sub: 'ann', provider: 'git' }, { lifespan: SHORT });
      await pass(OVER);
      expect(await two.get('ticket', 'x1')).toBeUndefined();
      expect(await two.take('ticket', 'x2')).toBeUndefined();
    });

    it('forgets a row that has expired before it is written', async () => {
      const { one, two, pass } = storage();
      await one.put('ticket', 'x1', { sub: 'ann', provider: 'git' }, { lifespan: 0 });
      await one.put('ticket', 'x2', { sub: 'ann', provider: 'git' }, { lifespan: -5.5 });
      await pass(5);
      expect(await two.get('ticket', 'x1')).toBeUndefined();
      expect(await two.get('ticket', 'x2')).toBeUndefined();
    });

    it('returns a row to one of ten concurrent takers', async () => {
      const { one } = storage();
      await one.put('ticket', 'x1', { sub: 'ann', provider: 'git' }, { lifespan: LONG });
      const taken = await atOnce(storage(), 10, (each) => each.take('ticket', 'x1'));
      expect(taken.filter((row) => row !== undefined)).toEqual([{ sub: 'ann', provider: 'git' }]);
      expect(await one.get('ticket', 'x1')).toBeUndefined();
    });

    it('removes a row', async () => {
      const { one, two } = storage();
      await one.put('client', 'c1', client, { lifespan: LONG });
      await two.remove('client', 'c1');
      await two.remove('client', 'c1');
      expect(await one.get('client', 'c1')).toBeUndefined();
    });

    it('extends the lifespan of an existing row, and creates none', async () => {
      const { one, two, pass } = storage();
      await one.put('client', 'c1', client, { lifespan: SHORT });
      await two.touch('client', 'c1', LONG);
      await two.touch('client', 'c2', LONG);
      await pass(OVER);
      expect(await one.get('client', 'c1')).toEqual(client);
      expect(await one.get('client', 'c2')).toBeUndefined();
      expect((await one.sizes()).clients).toBe(1);
    });

    it('never shortens a lifespan', async () => {
      const { one, pass } = storage();
      await one.put('client', 'c1', client, { lifespan: LONG });
      await one.touch('client', 'c1', SHORT);
      await pass(OVER);
      expect(await one.get('client', 'c1')).toEqual(client);
    });
  });

  describe('capacity', () => {
    it('removes the oldest login for a new one', async () => {
      const { one, two, now, pass } = storage();
      for (const id of ['t1', 't2', 't3']) {
        expect(await one.put('login', id, loginOf(id, now()), { lifespan: LONG, capacity: 2 })).toBe(true);
        await pass(5);
      }
      expect(await two.get('login', 't1')).toBeUndefined();
      expect(await two.get('login', 't2')).toMatchObject({ id: 't2' });
      expect(await two.get('login', 't3')).toMatchObject({ id: 't3' });
      expect((await one.sizes()).logins).toBe(2);
    });

    it('removes no client for a new one, and writes nothing', async () => {
      const { one, two } = storage();
      await one.put('client', 'c1', client, { lifespan: LONG, capacity: 2 });
      await one.put('client', 'c2', client, { lifespan: LONG, capacity: 2 });
      expect(await two.put('client', 'c3', client, { lifespan: LONG, capacity: 2 })).toBe(false);
      expect(await two.get('client', 'c1')).toEqual(client);
      expect(await two.get('client', 'c2')).toEqual(client);
      expect(await two.get('client', 'c3')).toBeUndefined();
      expect((await two.sizes()).clients).toBe(2);
    });

    it('frees its space when a row is removed, taken or expired', async () => {
      const { one, two, now, pass } = storage();
      const options = { lifespan: LONG, capacity: 1 };
      await one.put('client', 'c1', client, options);
      await one.remove('client', 'c1');
      expect(await two.put('client', 'c2', client, { lifespan: SHORT, capacity: 1 })).toBe(true);
      await pass(OVER);
      expect(await one.put('client', 'c3', client, options)).toBe(true);
      await one.put('login', 't1', loginOf('t1', now()), { lifespan: LONG, capacity: 2 });
      await one.put('login', 't2', loginOf('t2', now()), { lifespan: LONG, capacity: 2 });
      await one.take('login', 't2');
      await one.put('login', 't3', loginOf('t3', now()), { lifespan: LONG, capacity: 2 });
      expect(await two.get('login', 't1')).toMatchObject({ id: 't1' });
    });

    it('limits concurrent registrations', async () => {
      let next = 0;
      const stored = await atOnce(storage(), 12, (each) => {
        next += 1;
        return each.put('client', `c${next}`, client, { lifespan: LONG, capacity: 5 });
      });
      expect(stored.filter(Boolean)).toHaveLength(5);
      expect((await storage().one.sizes()).clients).toBe(5);
    });
  });

  describe('leases', () => {
    it('grants a lease to one of ten concurrent callers', async () => {
      const leases = await atOnce(storage(), 10, (each) => each.lease('refresh', LONG));
      expect(leases.filter((lease) => lease !== undefined)).toHaveLength(1);
    });

    it('grants it again after a release or its end', async () => {
      const { one, two, pass } = storage();
      const first = await one.lease('refresh', LONG);
      await first?.release();
      expect(await two.lease('refresh', SHORT)).toBeDefined();
      expect(await one.lease('refresh', SHORT)).toBeUndefined();
      await pass(OVER);
      expect(await one.lease('refresh', LONG)).toBeDefined();
    });

    it('protects a lease from release by another holder', async () => {
      const { one, two, pass } = storage();
      const late = await one.lease('refresh', SHORT);
      await pass(OVER);
      expect(await two.lease('refresh', LONG)).toBeDefined();
      await late?.release();
      expect(await one.lease('refresh', LONG)).toBeUndefined();
    });

    it('keeps leases of different names apart', async () => {
      const { one } = storage();
      expect(await one.lease('a', LONG)).toBeDefined();
      expect(await one.lease('b', LONG)).toBeDefined();
    });
  });

  describe('count', () => {
    it('counts in a window that begins with the first call', async () => {
      const { one, two, pass } = storage();
      expect(await one.count('register 192.0.2.1', SHORT)).toBe(1);
      expect(await two.count('register 192.0.2.1', SHORT)).toBe(2);
      expect(await one.count('register 192.0.2.2', SHORT)).toBe(1);
      await pass(OVER);
      expect(await two.count('register 192.0.2.1', SHORT)).toBe(1);
    });

    it('counts concurrent calls exactly', async () => {
      const counts = await atOnce(storage(), 20, (each) => each.count('bucket', LONG));
      expect([...counts].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    });

    it('does not extend the window for later calls', async () => {
      const { one, pass } = storage();
      await one.count('bucket', 2 * SHORT);
      await pass(SHORT);
      expect(await one.count('bucket', 2 * SHORT)).toBe(2);
      await pass(OVER);
      expect(await one.count('bucket', 2 * SHORT)).toBe(1);
    });
  });
}
