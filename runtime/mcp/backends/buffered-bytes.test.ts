import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BufferedBytes, type Keeper } from './buffered-bytes.ts';

const MEBIBYTE = 1_048_576;

interface Reader extends Keeper {
  isHeld: boolean;
  isGivenUp: boolean;
}

/** Creates a reader. `all`: the `BufferedBytes` in which it releases its bytes when it is given up. */
function reader(source = 'a', all?: BufferedBytes): Reader {
  const one: Reader = {
    source,
    kept: 0,
    isHeld: false,
    isGivenUp: false,
    giveUp: () => {
      one.isGivenUp = true;
      all?.tell(one, 0);
    },
    wait: () => {
      one.isHeld = true;
    },
    goOn: () => {
      one.isHeld = false;
    },
  };
  return one;
}

/** Creates a keeper that only waits for its client. */
function client(all?: BufferedBytes) {
  const one = {
    source: 'c',
    kept: 0,
    isGivenUp: false,
    giveUp: () => {
      one.isGivenUp = true;
      all?.tell(one, 0);
    },
  };
  return one;
}

/** Resolves after scheduled callbacks have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const held = (readers: readonly Reader[]) => readers.map(({ isHeld }) => isHeld);

describe('BufferedBytes', () => {
  it('pauses all readers but one once the limit is reached', () => {
    const all = new BufferedBytes(10 * MEBIBYTE);
    const readers = [reader(), reader(), reader()];
    for (const one of readers) all.tell(one, 3 * MEBIBYTE);
    expect(held(readers)).toEqual([false, false, false]);
    for (const one of readers) all.tell(one, 5 * MEBIBYTE);
    expect(held(readers)).toEqual([false, true, true]);
    expect([all.used, all.waiting]).toEqual([15 * MEBIBYTE, 2]);
  });

  it('resumes readers one by one in order until the total is below the limit', async () => {
    const all = new BufferedBytes(10 * MEBIBYTE);
    const readers = [reader(), reader(), reader()];
    for (const one of readers) all.tell(one, 8 * MEBIBYTE);
    expect(held(readers)).toEqual([false, false, true]);
    const [first, second, third] = readers;
    if (!first || !second || !third) throw new Error('three readers');
    all.tell(second, 0);
    await settled();
    expect(held(readers)).toEqual([false, false, false]);
    all.tell(first, 9 * MEBIBYTE);
    expect(held(readers)).toEqual([true, false, false]);
    all.tell(third, 0);
    await settled();
    expect(held(readers)).toEqual([false, false, false]);
    expect([all.used, all.waiting]).toEqual([9 * MEBIBYTE, 0]);
  });

  it('resumes no reader synchronously while another one reports its bytes', async () => {
    const all = new BufferedBytes(MEBIBYTE);
    const [first, second] = [reader(), reader()];
    all.tell(first, 2 * MEBIBYTE);
    all.tell(second, 2 * MEBIBYTE);
    all.tell(first, 0);
    expect(second.isHeld).toBe(true);
    await settled();
    expect(second.isHeld).toBe(false);
  });

  it('lets no reader exceed the limit while bytes for clients alone exceed it', async () => {
    const all = new BufferedBytes(10 * MEBIBYTE);
    const [given, one] = [client(), reader()];
    all.tell(given, 12 * MEBIBYTE);
    all.tell(one, 2 * MEBIBYTE);
    expect(one.isHeld).toBe(true);
    all.tell(given, 9 * MEBIBYTE);
    await settled();
    expect(one.isHeld).toBe(false);
  });

  it('forgets a reader that ends while it waits', async () => {
    const all = new BufferedBytes(MEBIBYTE);
    const readers = [reader(), reader(), reader()];
    for (const one of readers) all.tell(one, 2 * MEBIBYTE);
    const [first, second, third] = readers;
    if (!first || !second || !third) throw new Error('three readers');
    all.tell(second, 0);
    all.tell(first, 0);
    await settled();
    expect([third.isHeld, all.waiting]).toEqual([false, 0]);
  });

  it('resumes readers if its limit is raised', async () => {
    const all = new BufferedBytes(MEBIBYTE);
    const readers = [reader(), reader()];
    for (const one of readers) all.tell(one, 2 * MEBIBYTE);
    all.limit = 10 * MEBIBYTE;
    await settled();
    expect([all.waiting, all.limit]).toEqual([0, 10 * MEBIBYTE]);
  });

  it('counts a keeper with a lower free amount above that amount', () => {
    const all = new BufferedBytes(MEBIBYTE);
    const [stream, call] = [{ ...reader(), free: 65_536 }, reader()];
    for (const bytes of [65_536, 65_537]) for (const one of [stream, call]) all.tell(one, bytes);
    expect([stream.kept, call.kept, all.used]).toEqual([65_537, 0, 65_537]);
  });

  it('ignores keepers of few bytes', () => {
    const all = new BufferedBytes(MEBIBYTE);
    const readers = Array.from({ length: 100 }, () => reader());
    for (const one of readers) all.tell(one, MEBIBYTE);
    expect([all.used, held(readers).includes(true)]).toEqual([0, false]);
  });
});

describe('BufferedBytes with waiting readers', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'setImmediate'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('ends a reader that exceeds the limit and does not finish', async () => {
    const all = new BufferedBytes(10 * MEBIBYTE);
    const [slow, waiting] = [reader('slow', all), reader('b', all)];
    all.tell(slow, 11 * MEBIBYTE);
    all.tell(waiting, 2 * MEBIBYTE);
    expect(held([slow, waiting])).toEqual([false, true]);
    // The reader receives a few bytes each second.
    for (let second = 0; second < 60; second += 1) {
      jest.advanceTimersByTime(1_000);
      if (!slow.isGivenUp) all.tell(slow, 11 * MEBIBYTE + second);
    }
    await settled();
    expect([slow.isGivenUp, waiting.isGivenUp, waiting.isHeld]).toEqual([true, false, false]);
  });

  it('ends clients that do not read if their bytes exceed the limit', async () => {
    const all = new BufferedBytes(10 * MEBIBYTE);
    const [untaken, waiting] = [client(all), reader('b', all)];
    all.tell(untaken, 11 * MEBIBYTE);
    jest.advanceTimersByTime(600_000);
    expect(untaken.isGivenUp).toBe(false);
    all.tell(waiting, 2 * MEBIBYTE);
    jest.advanceTimersByTime(29_000);
    expect(untaken.isGivenUp).toBe(false);
    jest.advanceTimersByTime(31_000);
    await settled();
    expect([untaken.isGivenUp, waiting.isHeld]).toEqual([true, false]);
  });

  it('prefers readers of other sources then, even later ones', async () => {
    const all = new BufferedBytes(10 * MEBIBYTE);
    const hostile = Array.from({ length: 5 }, () => reader('hostile', all));
    for (const one of hostile) all.tell(one, 6 * MEBIBYTE);
    const other = reader('b', all);
    all.tell(other, 2 * MEBIBYTE);
    expect(other.isHeld).toBe(true);
    jest.advanceTimersByTime(60_000);
    await settled();
    expect(other.isHeld).toBe(false);
    expect(hostile.filter(({ isGivenUp }) => isGivenUp)).toHaveLength(1);
  });

  it('keeps a reader that releases its bytes and begins again', async () => {
    const all = new BufferedBytes(10 * MEBIBYTE);
    const busy = reader('a', all);
    for (let message = 0; message < 20; message += 1) {
      const waiting = reader('b', all);
      all.tell(busy, 11 * MEBIBYTE);
      all.tell(waiting, 2 * MEBIBYTE);
      jest.advanceTimersByTime(20_000);
      all.tell(busy, 0);
      await settled();
      all.tell(waiting, 0);
    }
    expect(busy.isGivenUp).toBe(false);
  });

  it('stops its timer once no reader waits', () => {
    const all = new BufferedBytes(MEBIBYTE);
    const [first, second] = [reader('a', all), reader('b', all)];
    all.tell(first, 2 * MEBIBYTE);
    all.tell(second, 2 * MEBIBYTE);
    expect(jest.getTimerCount()).toBe(1);
    all.tell(second, 0);
    jest.advanceTimersByTime(30_000);
    expect(jest.getTimerCount()).toBe(0);
  });
});
