import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import { SessionUses } from './session-uses.ts';
import type { SharedSession } from './shared-session.ts';
import type { NoRecord, RecordUse } from './storage/session-records.ts';
import { anySession } from './testdata/any-session.ts';

function begin() {
  const clock = { now: 0 };
  const told: RecordUse[][] = [];
  const state: { isAway: boolean; isNow?: NoRecord } = { isAway: false };
  const settled: [key: string, state: NoRecord | undefined][] = [];
  const uses = new SessionUses({
    records: {
      touch: (some) => {
        told.push([...some]);
        return state.isAway
          ? Promise.reject(new StorageUnavailable('away'))
          : Promise.resolve(some.map(() => state.isNow));
      },
    },
    idle: () => 1_800_000,
    now: () => clock.now,
    settle({ name }, became) {
      settled.push([name.key, became]);
      return Promise.resolve();
    },
    failed: () => undefined,
  });
  const shared = (key: string): SharedSession => ({
    session: anySession(key),
    name: { key, owner: 'ann' },
    openedAt: 0,
    versions: new Map(),
    subscribedIn: 0,
    toldUse: 0,
    isUnwritten: false,
  });
  const use = (one: SharedSession) => {
    one.session.lastUsed = clock.now;
    uses.note(one);
  };
  return { clock, told, state, settled, uses, shared, use };
}

describe('SessionUses', () => {
  it('records the first uses after a quiet time at once in one request, and no other use', async () => {
    const { clock, told, shared, use } = begin();
    const [one, other] = [shared('one'), shared('other')];
    clock.now = 15_000;
    use(one);
    await turn();
    expect(told).toEqual([]);
    clock.now = 15_001;
    use(one);
    use(other);
    use(one);
    await turn();
    expect(told).toEqual([
      [
        { ...one.name, unused: 0 },
        { ...other.name, unused: 0 },
      ],
    ]);
  });

  it('records the last use of each session later; a call counts as use, a stream does not', async () => {
    const { clock, told, uses, shared } = begin();
    const [used, calling, streaming, idle] = ['used', 'calling', 'streaming', 'idle'].map(shared);
    clock.now = 30_000;
    used!.session.lastUsed = 25_000;
    calling!.session.calls = 1;
    Object.assign(streaming!.session, { stream: {} });
    await uses.tell([used!, calling!, streaming!, idle!]);
    expect(told).toEqual([
      [
        { ...used!.name, unused: 5_000 },
        { ...calling!.name, unused: 0 },
        { ...streaming!.name, unused: undefined },
      ],
    ]);
    expect([used, calling, streaming].map((one) => one!.toldUse)).toEqual([25_000, 30_000, 0]);
    // A use that was recorded before is not recorded again.
    told.length = 0;
    calling!.session.calls = 0;
    await uses.tell([used!, calling!, idle!]);
    expect(told).toEqual([[]]);
  });

  it('restores a missing record when it records a use at once', async () => {
    const { clock, state, settled, shared, use } = begin();
    clock.now = 20_000;
    state.isNow = 'missing';
    use(shared('one'));
    await turn();
    await turn();
    expect(settled).toEqual([['one', 'missing']]);
  });

  it('records a use again after a failure', async () => {
    const { clock, told, state, uses, shared, use } = begin();
    const one = shared('one');
    clock.now = 20_000;
    state.isAway = true;
    use(one);
    await turn();
    await turn();
    state.isAway = false;
    clock.now = 21_000;
    await uses.tell([one]);
    expect(told.at(-1)).toEqual([{ ...one.name, unused: 1_000 }]);
  });
});
