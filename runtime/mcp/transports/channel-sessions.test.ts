import { afterEach, describe, expect, it } from '@jest/globals';
import { SessionTable, type ChannelSession } from './channel-sessions.ts';

const tables: SessionTable[] = [];
afterEach(() => {
  for (const table of tables.splice(0)) table.close();
});

/** Returns a table of at most two sessions, used at 0 s and at 10 s. */
function fullTable(giveWay?: number) {
  const clock = { time: 0 };
  const ended: string[] = [];
  const table = new SessionTable({
    ...{ max: 2, idle: 600_000, now: () => clock.time },
    ...(giveWay !== undefined && { giveWay }),
    onEnd: ({ id }) => ended.push(id),
  });
  tables.push(table);
  const open = (): ChannelSession => {
    const session = table.open();
    if (!session) throw new Error('the quota is used up');
    return session;
  };
  const first = open();
  clock.time = 10_000;
  const second = open();
  return { table, clock, ended, first, second };
}

describe('SessionTable', () => {
  it('ends the session idle for longest for a new one if sessions give way', () => {
    const { table, clock, ended, first } = fullTable(60_000);
    clock.time = 60_000;
    expect(table.hasCapacity()).toBe(false);
    clock.time = 75_000;
    expect(table.hasCapacity()).toBe(true);
    expect(ended).toEqual([first.id]);
  });

  it('ends no session with a call in flight', () => {
    const { table, clock, ended, first, second } = fullTable(60_000);
    first.calls.set('1', {} as never);
    clock.time = 75_000;
    expect(table.hasCapacity()).toBe(true);
    expect(ended).toEqual([second.id]);
  });

  it('refuses a new session if sessions do not give way', () => {
    const { table, clock } = fullTable();
    clock.time = 500_000;
    expect(table.hasCapacity()).toBe(false);
  });
});
