import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewRecord, Opening, RecordName, SessionRecords } from '../session-records.ts';

/** New, empty records and their clock. */
export interface OpenedRecords {
  readonly records: SessionRecords;
  /** Lets time pass. Some implementations use the real clock: keep it short. */
  readonly pass: (ms: number) => Promise<void>;
  readonly close: () => Promise<void> | void;
}

const LONG = 600_000;
/** Milliseconds until a record ends or becomes evictable. Long enough for the other steps of a test on a busy machine. */
const SHORT = 1_000;
const OVER = 1_100;
const BOUNDS = { idle: LONG, most: 100, safe: SHORT };

const named = (key: string, owner = 'ann'): RecordName => ({ key, owner });
const newRecord = (key: string, owner = 'ann', countedFor = owner): NewRecord => ({
  key,
  owner,
  countedFor,
  fields: { profile: `0 profile of ${key}`, 'leg:a:1': '1 leg' },
});
const evictedBy = (opening: Opening) =>
  opening.outcome === 'opened' ? opening.evicted.map(({ key }) => key) : opening.outcome;

/** Verifies the contract of session records, with new records for each test. */
export function recordsContract(name: string, open: () => OpenedRecords | Promise<OpenedRecords>): void {
  describe(`session records in ${name}`, () => {
    let opened: OpenedRecords | undefined;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(async () => {
      await opened?.close();
      opened = undefined;
    });
    const place = () => {
      if (!opened) throw new Error('the records are not open');
      return opened;
    };
    fieldsContract(place);
    endsContract(place);
    evictionContract(place);
  });
}

function fieldsContract(place: () => OpenedRecords): void {
  it('return the stored fields to their owner only', async () => {
    const { records } = place();
    expect(await records.open(newRecord('a'), BOUNDS)).toEqual({ outcome: 'opened', evicted: [] });
    expect(await records.load(named('a'), LONG)).toEqual(newRecord('a').fields);
    expect(await records.load(named('a', 'bob'), LONG)).toBe('foreign');
    expect(await records.write(named('a', 'bob'), [], LONG)).toBe('foreign');
    expect(await records.load(named('b'), LONG)).toBe('missing');
    expect(await records.open(newRecord('a'), BOUNDS)).toEqual({ outcome: 'there' });
    expect(await records.open(newRecord('a', 'bob'), BOUNDS)).toEqual({ outcome: 'foreign' });
  });

  it('write fields, replace any version or the named one, and remove fields', async () => {
    const { records } = place();
    await records.open(newRecord('a'), BOUNDS);
    const changes = [
      { field: 'level', replaces: undefined, value: '0 warning' },
      { field: 'leg:a:1', replaces: 1, value: '2 other leg' },
      { field: 'profile', replaces: undefined, value: undefined },
    ];
    expect(await records.write(named('a'), changes, LONG)).toEqual({});
    expect(await records.load(named('a'), LONG)).toEqual({ level: '0 warning', 'leg:a:1': '2 other leg' });
  });

  it('keep the fields that another writer wrote first, and return them', async () => {
    const { records } = place();
    await records.open(newRecord('a'), BOUNDS);
    const changes = [
      { field: 'leg:a:1', replaces: 0, value: '1 late leg' },
      { field: 'leg:b:2', replaces: 3, value: '4 leg of one that is gone' },
      { field: 'leg:c:3', replaces: 0, value: '1 new leg' },
    ];
    expect(await records.write(named('a'), changes, LONG)).toEqual({ 'leg:a:1': '1 leg', 'leg:b:2': '' });
    expect(await records.load(named('a'), LONG)).toMatchObject({ 'leg:a:1': '1 leg', 'leg:c:3': '1 new leg' });
  });
}

function endsContract(place: () => OpenedRecords): void {
  it('report an ended record as ended', async () => {
    const { records } = place();
    await records.open(newRecord('a'), BOUNDS);
    await records.end(named('a', 'bob'), LONG);
    expect(await records.load(named('a'), LONG)).toEqual(newRecord('a').fields);
    await records.end(named('a'), LONG);
    expect(await records.load(named('a'), LONG)).toBe('ended');
    expect(await records.write(named('a'), [], LONG)).toBe('ended');
    expect(await records.touch([{ ...named('a'), unused: 0 }], LONG)).toEqual(['ended']);
    expect(await records.open(newRecord('a'), BOUNDS)).toEqual({ outcome: 'ended' });
    // A record that ended before it was stored is not stored later.
    await records.end(named('b'), LONG);
    expect(await records.open(newRecord('b'), BOUNDS)).toEqual({ outcome: 'ended' });
  });

  it('end a record after its idle time, and report that once', async () => {
    const { records, pass } = place();
    for (const key of ['idle', 'used', 'streaming', 'loaded'])
      await records.open(newRecord(key), { ...BOUNDS, idle: SHORT });
    const uses = [
      { ...named('used'), unused: 0 },
      { ...named('streaming'), unused: undefined },
    ];
    expect(await records.touch(uses, LONG)).toEqual([undefined, undefined]);
    await records.load(named('loaded'), LONG);
    await pass(OVER);
    expect(await records.load(named('idle'), SHORT)).toBe('ended');
    expect(await records.sweep(LONG)).toEqual([{ key: 'idle', owner: 'ann', fields: newRecord('idle').fields }]);
    expect(await records.sweep(LONG)).toEqual([]);
    for (const key of ['used', 'streaming', 'loaded'])
      expect(await records.load(named(key), LONG)).toEqual(newRecord(key).fields);
    expect(await records.load(named('idle'), LONG)).toBe('ended');
  });
}

function evictionContract(place: () => OpenedRecords): void {
  it('evict the records used longest ago, with or without streams, and count each caller separately', async () => {
    const { records, pass } = place();
    const bounds = { ...BOUNDS, most: 3 };
    for (const key of ['a', 'b', 'c']) {
      await records.open(newRecord(key), bounds);
      await pass(20);
    }
    await records.open(newRecord('other', 'ann', 'bob'), bounds);
    await pass(OVER);
    await records.touch(
      [
        { ...named('a'), unused: 0 },
        { ...named('b'), unused: undefined },
      ],
      LONG,
    );
    const opening = await records.open(newRecord('d'), bounds);
    expect(evictedBy(opening)).toEqual(['b']);
    const [evicted] = opening.outcome === 'opened' ? opening.evicted : [];
    expect(evicted).toMatchObject({ owner: 'ann', fields: newRecord('b').fields });
    expect(evicted?.unused).toBeGreaterThanOrEqual(OVER);
    expect(evictedBy(await records.open(newRecord('e'), bounds))).toEqual(['c']);
    expect(await records.load(named('b'), LONG)).toBe('ended');
    for (const key of ['a', 'd', 'e', 'other'])
      expect(await records.load(named(key), LONG)).toEqual(newRecord(key).fields);
  });

  it('open no record if all were used a moment ago, and report the wait', async () => {
    const { records, pass } = place();
    const bounds = { ...BOUNDS, most: 2 };
    await records.open(newRecord('a'), bounds);
    await records.open(newRecord('b'), bounds);
    const opening = await records.open(newRecord('c'), bounds);
    expect(opening.outcome).toBe('full');
    const wait = opening.outcome === 'full' ? opening.wait : 0;
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(SHORT);
    expect(await records.load(named('c'), LONG)).toBe('missing');
    await pass(OVER);
    // The use of a session with a call in flight is recorded repeatedly.
    await records.touch([{ ...named('a'), unused: 0 }], LONG);
    expect(evictedBy(await records.open(newRecord('c'), bounds))).toEqual(['b']);
    expect((await records.open(newRecord('d'), bounds)).outcome).toBe('full');
  });

  it('record a use with its own time, and never an earlier one than the last', async () => {
    const { records, pass } = place();
    const bounds = { ...BOUNDS, most: 2 };
    await records.open(newRecord('a'), bounds);
    await records.open(newRecord('b'), bounds);
    await pass(OVER);
    await records.touch(
      [
        { ...named('a'), unused: OVER - 400 },
        { ...named('b'), unused: OVER * 10 },
      ],
      LONG,
    );
    expect(evictedBy(await records.open(newRecord('c'), bounds))).toEqual(['b']);
  });

  it('evict all surplus records after the limit was lowered', async () => {
    const { records, pass } = place();
    for (const key of ['a', 'b', 'c', 'd']) {
      await records.open(newRecord(key), BOUNDS);
      await pass(20);
    }
    await pass(OVER);
    expect(evictedBy(await records.open(newRecord('e'), { ...BOUNDS, most: 2 }))).toEqual(['a', 'b', 'c']);
  });
}
