import { afterEach, describe, expect, it } from '@jest/globals';
import { RequestError } from '#runtime/errors';
import type { Eviction } from './evict-session.ts';
import { EVICTABLE_AFTER } from './session-limits.ts';
import { SessionStore } from './session-store.ts';
import type { ClientProfile, Session } from './session.ts';

const SECOND = 1_000;
const PROFILE: ClientProfile = {
  paramsText: '{}',
  capabilities: '{}',
  revision: '2025-11-25',
  clientName: 'test',
  clientVersion: '1',
};

const stores: SessionStore[] = [];
afterEach(() => {
  for (const store of stores.splice(0)) store.close();
});

function openStore(limits: { perPrincipal?: number; perReplica?: number }) {
  const clock = { now: 0 };
  const evicted: Eviction[] = [];
  const store = new SessionStore(
    { idle: 30 * 60 * SECOND, perPrincipal: 100, perReplica: 10_000, evictableAfter: EVICTABLE_AFTER, ...limits },
    () => clock.now,
    { ended: () => undefined, forgotten: () => undefined, evicted: (one) => evicted.push(one) },
  );
  stores.push(store);
  const open = (principal = 'ann', countedFor = principal) => store.create({ principal, countedFor }, PROFILE);
  /** Opens `count` sessions, one a second. */
  const openMany = (count: number, principal = 'ann') =>
    Array.from({ length: count }, () => {
      clock.now += SECOND;
      return open(principal);
    });
  const refusal = (principal?: string): RequestError => {
    try {
      open(principal);
    } catch (error) {
      if (error instanceof RequestError) return error;
    }
    throw new Error('it was not refused');
  };
  return { store, clock, evicted, open, openMany, refusal };
}

const withStream = (session: Session) =>
  Object.assign(session, { stream: { close: () => undefined } as unknown as Session['stream'] });
const isThere = (store: SessionStore) => (session: Session) => store.get(session.id) !== undefined;

describe('SessionStore', () => {
  it('evicts the sessions idle for longest, with or without open streams, and no new session', () => {
    const { store, clock, open, openMany } = openStore({});
    const sessions = openMany(100);
    for (const [at, session] of sessions.entries()) if (at % 2 === 0) withStream(session);
    clock.now += 60 * SECOND;
    const used = sessions.slice(0, 10);
    for (const session of used) void store.find(session.id, 'ann');
    const newcomers = Array.from({ length: 40 }, () => open());
    expect(newcomers.every(isThere(store))).toBe(true);
    expect(used.every(isThere(store))).toBe(true);
    expect(sessions.slice(10, 50).some(isThere(store))).toBe(false);
    expect(sessions.slice(50).every(isThere(store))).toBe(true);
    expect(store.size).toBe(100);
  });

  it('refuses a new session while every session is younger than a minute, and returns the wait', () => {
    const { store, clock, open, openMany, refusal } = openStore({ perPrincipal: 3 });
    const [first] = openMany(3);
    clock.now += 20 * SECOND;
    // The first session opened 22 s ago.
    expect(refusal().answer).toMatchObject({
      status: 200,
      code: 'too_many_sessions',
      rpc: { data: { reason: 'too_many_sessions', retryAfterMs: 38 * SECOND } },
    });
    expect(store.size).toBe(3);
    clock.now += 38 * SECOND - 1;
    expect(refusal().answer.rpc?.data).toMatchObject({ retryAfterMs: SECOND });
    clock.now += 1;
    open();
    expect(isThere(store)(first!)).toBe(false);
    // Another principal has its own quota.
    open('bob');
  });

  it('never evicts a session with a call in flight', () => {
    const { store, clock, open, openMany, refusal } = openStore({ perPrincipal: 2 });
    const [busy, idle] = openMany(2);
    busy!.calls = 1;
    idle!.calls = 1;
    clock.now += 120 * SECOND;
    expect(refusal().answer.rpc?.data).toMatchObject({ retryAfterMs: 5 * SECOND });
    idle!.calls = 0;
    store.touch(idle!);
    open();
    expect([isThere(store)(busy!), isThere(store)(idle!)]).toEqual([true, false]);
  });

  it('applies the same rule to the quota of the replica, for all principals', () => {
    const { store, clock, evicted, open, openMany, refusal } = openStore({ perReplica: 3 });
    const [ann, bob] = [openMany(2, 'ann'), openMany(1, 'bob')];
    expect(refusal('eve').answer.code).toBe('too_many_sessions');
    clock.now += 60 * SECOND;
    void store.find(ann[0]!.id, 'ann');
    open('eve');
    expect([...ann, ...bob].map(isThere(store))).toEqual([true, false, true]);
    expect(evicted).toEqual([
      {
        reason: 'replica',
        principal: 'ann',
        session: ann[1]!.logId,
        ...{ revision: '2025-11-25', clientName: 'test', clientVersion: '1' },
        idle: 61 * SECOND,
      },
    ]);
  });

  it('counts sessions of one principal separately if they have different `countedFor`', () => {
    const { clock, evicted, open, refusal } = openStore({ perPrincipal: 1 });
    const here = open('anonymous', 'anonymous at 192.0.2.1');
    open('anonymous', 'anonymous at 192.0.2.2');
    expect(() => open('anonymous', 'anonymous at 192.0.2.1')).toThrow(RequestError);
    clock.now += 60 * SECOND;
    open('anonymous', 'anonymous at 192.0.2.1');
    expect(evicted).toMatchObject([{ reason: 'principal', session: here.logId }]);
    expect(() => refusal('anonymous')).toThrow('it was not refused');
  });

  it('does not end an idle session with an open stream', () => {
    const { store, clock, openMany } = openStore({});
    const [streaming, idle] = openMany(2);
    withStream(streaming!);
    clock.now += 31 * 60 * SECOND;
    store.sweep();
    expect([isThere(store)(streaming!), isThere(store)(idle!)]).toEqual([true, false]);
    // The client may open its next stream.
    streaming!.stream = undefined;
    clock.now += 29 * 60 * SECOND;
    store.sweep();
    expect(isThere(store)(streaming!)).toBe(true);
    clock.now += 2 * 60 * SECOND;
    store.sweep();
    expect(isThere(store)(streaming!)).toBe(false);
  });

  it('does not count an opened stream as use', () => {
    const { store, clock, open, openMany } = openStore({ perPrincipal: 2 });
    const [streaming, used] = openMany(2);
    clock.now += 60 * SECOND;
    void store.find(used!.id, 'ann');
    clock.now += SECOND;
    void store.find(streaming!.id, 'ann', false);
    open();
    expect([isThere(store)(streaming!), isThere(store)(used!)]).toEqual([false, true]);
  });
});
