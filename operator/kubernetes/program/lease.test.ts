import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { holdLease, JITTER, type Lease, microTime, USUAL_TIMES } from './lease.ts';
import { eventually } from '../testdata/eventually.ts';
import { LeaseServer } from '../testdata/lease-server.ts';
import { ManualClock } from '#operator/testdata/manual-clock';

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const TIME_OF_DAY = Date.parse('2030-01-02T03:04:05.678Z');

interface Candidate {
  lease: Lease;
  clock: ManualClock;
  lost: boolean;
  /** Advances the clock of this process, and waits until its due work is done. */
  pass(milliseconds: number): Promise<void>;
}

describe('holdLease', () => {
  let server: LeaseServer;
  let candidates: Candidate[];
  /** Milliseconds that each renewal may take. */
  let deadlines: number[];

  beforeEach(async () => {
    server = await new LeaseServer().start();
    [candidates, deadlines] = [[], []];
  });
  afterEach(async () => {
    await Promise.all(candidates.map(({ lease }) => lease.handOver()));
    await server.close();
  });

  async function join(identity: string, startsAt = TIME_OF_DAY, given: object = {}): Promise<Candidate> {
    const clock = new ManualClock();
    const timeOfDay = () => startsAt + clock.now();
    const place = { namespace: 'system', name: 'operator' };
    const pace = { renewEvery: 1000, lookEvery: 1000, random: () => 0.5, ...given };
    const api = server.api();
    const replace = api.replace.bind(api);
    api.replace = (resource, object, options) => {
      deadlines.push(options?.deadline ?? Infinity);
      return replace(resource, object, options);
    };
    const lease = holdLease({ api, place, identity, clock, timeOfDay, log: silent, ...pace });
    const settled = () => eventually(() => clock.timers === 1 || candidate.lost, `${identity} waits`);
    const candidate: Candidate = {
      ...{ lease, clock, lost: false },
      async pass(milliseconds) {
        for (let passed = 0; passed < milliseconds; passed += 1000) {
          clock.pass(Math.min(1000, milliseconds - passed));
          await settled();
        }
      },
    };
    void lease.lost.then(() => (candidate.lost = true));
    candidates.push(candidate);
    await settled();
    return candidate;
  }

  it('lets the first process create and hold the Lease, with times of six digits', async () => {
    const first = await join('first');
    await first.lease.acquired;
    expect(first.lease.isHeld()).toBe(true);
    expect(server.lease?.spec).toEqual({
      holderIdentity: 'first',
      leaseDurationSeconds: 4,
      acquireTime: '2030-01-02T03:04:05.678000Z',
      renewTime: '2030-01-02T03:04:05.678000Z',
      leaseTransitions: 0,
    });
    expect(microTime(0)).toBe('1970-01-01T00:00:00.000000Z');
  });

  it('renews the Lease with one request, and waits without writing in the other processes', async () => {
    const first = await join('first');
    const second = await join('second');
    for (let i = 0; i < 30; i += 1) {
      const before = server.requests;
      await first.pass(1000);
      expect(server.requests).toBe(before + 1);
      await second.pass(1000);
    }
    expect([first.lease.isHeld(), second.lease.isHeld()]).toEqual([true, false]);
    expect(server.lease?.spec).toMatchObject({
      holderIdentity: 'first',
      acquireTime: '2030-01-02T03:04:05.678000Z',
      renewTime: '2030-01-02T03:04:35.678000Z',
    });
  });

  it('takes a Lease that was not renewed for its duration, by its own clock', async () => {
    await join('first');
    const second = await join('second');
    await second.pass(3000);
    expect(second.lease.isHeld()).toBe(false);
    await second.pass(2000);
    expect(second.lease.isHeld()).toBe(true);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1 });
  });

  it('does not take the Lease from a holder whose clock is wrong by years', async () => {
    const first = await join('first', 0);
    const second = await join('second');
    for (let i = 0; i < 20; i += 1) {
      await first.pass(1000);
      await second.pass(1000);
    }
    expect(second.lease.isHeld()).toBe(false);
  });

  it('replaces a dead leader within 5 s with the default times', async () => {
    await join('first', TIME_OF_DAY, USUAL_TIMES);
    const { clock, lease } = await join('second', TIME_OF_DAY, { ...USUAL_TIMES, random: () => 1 });
    // The last renewal comes just after a check.
    server.write({ renewTime: 'later' });
    let passed = 0;
    while (!lease.isHeld() && passed < 20_000) {
      clock.pass(20);
      passed += 20;
      await eventually(() => clock.timers === 1, 'it waits');
    }
    // 5 s leave time for two requests: the check that sees the last renewal, and the request that takes the Lease.
    expect(passed).toBeLessThanOrEqual(4640);
    expect(USUAL_TIMES.duration + USUAL_TIMES.lookEvery * (1 + JITTER)).toBeLessThanOrEqual(4600);
  });

  it('acts for less than the duration with the default times, with two more attempts to renew', () => {
    const { duration, renewWithin, renewEvery, giveUpAfter } = USUAL_TIMES;
    expect(renewWithin).toBeLessThan(duration);
    expect(2 * renewEvery * (1 + JITTER)).toBeLessThan(renewWithin);
    expect(giveUpAfter).toBeGreaterThan(duration);
  });

  it('stops acting without a renewal before another process may take the Lease', async () => {
    const first = await join('first');
    const second = await join('second');
    server.down = true;
    await first.pass(2000);
    expect([first.lease.isHeld(), first.lost]).toEqual([true, false]);
    await first.pass(1000);
    expect([first.lease.isHeld(), first.lost]).toEqual([false, false]);
    await first.pass(7000);
    await eventually(() => first.lost, 'the first one gives up');
    await second.pass(10_000);
    expect(second.lease.isHeld()).toBe(false);
    server.down = false;
    await second.pass(6000);
    expect(second.lease.isHeld()).toBe(true);
  });

  it('stops acting after a pause of the process, even before it notices the loss', async () => {
    const first = await join('first');
    server.down = true;
    first.clock.pass(10_000);
    expect(first.lease.isHeld()).toBe(false);
    await eventually(() => first.lost, 'it notices');
  });

  it('tolerates a short outage of the API server', async () => {
    const first = await join('first');
    server.down = true;
    await first.pass(8000);
    expect([first.lease.isHeld(), first.lost]).toEqual([false, false]);
    server.down = false;
    await first.pass(5000);
    expect([first.lease.isHeld(), first.lost]).toEqual([true, false]);
  });

  it('tolerates an outage until its last moment, with a clock of fractional milliseconds', async () => {
    const first = await join('first');
    first.clock.pass(0.25);
    server.down = true;
    await first.pass(8000);
    server.down = false;
    await first.pass(5000);
    expect([first.lease.isHeld(), first.lost]).toEqual([true, false]);
  });

  it('stops acting at that time, not when the next renewal is due, and no renewal takes longer', async () => {
    const first = await join('first', TIME_OF_DAY, { renewEvery: 2000 });
    server.down = true;
    await first.pass(3000);
    expect([first.lease.isHeld(), deadlines]).toEqual([false, [1000]]);
    await first.pass(1000);
    expect(deadlines).toEqual([1000, 1500]);
  });

  it('adds its owner to a Lease that was created without one', async () => {
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'operator', uid: 'u' };
    const first = await join('first', TIME_OF_DAY, { owner });
    expect(server.lease?.metadata.ownerReferences).toEqual([owner]);
    await first.lease.handOver();
    expect(server.lease?.metadata.ownerReferences).toEqual([owner]);
    if (server.lease) server.lease.metadata.ownerReferences = [];
    await join('second', TIME_OF_DAY, { owner });
    expect(server.lease).toMatchObject({ metadata: { ownerReferences: [owner] }, spec: { holderIdentity: 'second' } });
  });

  it('counts the Lease as held since the renewal was sent, not since the answer', async () => {
    const first = await join('first');
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { requests } = server;
    server.until = promise;
    first.clock.pass(1000);
    await eventually(() => server.requests > requests, 'the renewal is sent');
    first.clock.pass(1500);
    resolve(undefined);
    await eventually(() => first.clock.timers === 1, 'it is renewed');
    server.down = true;
    await first.pass(1000);
    expect(first.lease.isHeld()).toBe(true);
    first.clock.pass(1000);
    expect(first.lease.isHeld()).toBe(false);
  });

  it('does not take the Lease again after losing it', async () => {
    const first = await join('first');
    server.down = true;
    await first.pass(10_000);
    await eventually(() => first.lost, 'it knows');
    server.down = false;
    // No further attempt is scheduled.
    expect(first.clock.timers).toBe(0);
    first.clock.pass(60_000);
    expect([first.clock.timers, first.lease.isHeld()]).toEqual([0, false]);
  });

  it('recognizes its own write although the answer was lost', async () => {
    server.breaks = true;
    const first = await join('first');
    expect([first.lease.isHeld(), server.lease?.spec.holderIdentity]).toEqual([false, 'first']);
    server.breaks = false;
    await first.pass(1000);
    expect(first.lease.isHeld()).toBe(true);
  });

  it("respects the duration in the holder's Lease", async () => {
    await join('first');
    server.write({ leaseDurationSeconds: 60 });
    const second = await join('second');
    await second.pass(59_000);
    expect(second.lease.isHeld()).toBe(false);
    await second.pass(2000);
    expect(second.lease.isHeld()).toBe(true);
  });

  it('loses the Lease at once when another process holds it', async () => {
    const first = await join('first');
    server.write({ holderIdentity: 'usurper' });
    await first.pass(1000);
    await eventually(() => first.lost, 'it knows');
    expect(first.lease.isHeld()).toBe(false);
    expect(server.lease?.spec.holderIdentity).toBe('usurper');
  });

  it('keeps the Lease if another client edits or deletes it without changing the holder', async () => {
    const first = await join('first');
    server.write({});
    await first.pass(2000);
    expect(first.lease.isHeld()).toBe(true);
    server.lease = undefined;
    await first.pass(2000);
    expect(first.lease.isHeld()).toBe(true);
    expect(server.lease).toMatchObject({ spec: { holderIdentity: 'first' } });
  });

  it('hands the Lease over, so that the next attempt of another process takes it', async () => {
    const first = await join('first');
    const second = await join('second');
    await first.lease.handOver();
    expect(first.lease.isHeld()).toBe(false);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    expect(first.lost).toBe(false);
    await second.pass(1000);
    expect(second.lease.isHeld()).toBe(true);
  });

  it('hands over only a Lease that it holds', async () => {
    await join('first');
    const second = await join('second');
    await second.lease.handOver();
    expect(server.lease?.spec.holderIdentity).toBe('first');
  });

  it('gives the Lease to one of several processes that try at the same moment', async () => {
    const joined = await Promise.all(['a', 'b', 'c', 'd'].map((identity) => join(identity)));
    expect(joined.filter(({ lease }) => lease.isHeld())).toHaveLength(1);
    for (let i = 0; i < 5; i += 1) await Promise.all(joined.map((candidate) => candidate.pass(1000)));
    expect(joined.filter(({ lease }) => lease.isHeld())).toHaveLength(1);
  });
});
