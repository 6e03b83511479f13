import { describe, expect, it } from '@jest/globals';
import { KeptBytes, type Keeper } from './kept-bytes.ts';

const MEBIBYTE = 1_048_576;

interface Reader extends Keeper {
  isHeld: boolean;
}

function reader(): Reader {
  const one: Reader = {
    kept: 0,
    isHeld: false,
    wait: () => {
      one.isHeld = true;
    },
    goOn: () => {
      one.isHeld = false;
    },
  };
  return one;
}

/** What was scheduled has run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const held = (readers: readonly Reader[]) => readers.map(({ isHeld }) => isHeld);

describe('KeptBytes', () => {
  it('holds back all readers but one once the bound is reached', () => {
    const all = new KeptBytes(10 * MEBIBYTE);
    const readers = [reader(), reader(), reader()];
    for (const one of readers) all.tell(one, 3 * MEBIBYTE);
    expect(held(readers)).toEqual([false, false, false]);
    for (const one of readers) all.tell(one, 5 * MEBIBYTE);
    expect(held(readers)).toEqual([false, true, true]);
    expect([all.used, all.waiting]).toEqual([15 * MEBIBYTE, 2]);
  });

  it('lets the readers go on one after the other, in their order, until there is room for all', async () => {
    const all = new KeptBytes(10 * MEBIBYTE);
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

  it('tells nobody to go on while it is told of others', async () => {
    const all = new KeptBytes(MEBIBYTE);
    const [first, second] = [reader(), reader()];
    all.tell(first, 2 * MEBIBYTE);
    all.tell(second, 2 * MEBIBYTE);
    all.tell(first, 0);
    expect(second.isHeld).toBe(true);
    await settled();
    expect(second.isHeld).toBe(false);
  });

  it('lets no reader go beyond the bound while what waits for clients alone is beyond it', async () => {
    const all = new KeptBytes(10 * MEBIBYTE);
    const [given, one]: [Keeper, Reader] = [{ kept: 0 }, reader()];
    all.tell(given, 12 * MEBIBYTE);
    all.tell(one, 2 * MEBIBYTE);
    expect(one.isHeld).toBe(true);
    all.tell(given, 9 * MEBIBYTE);
    await settled();
    expect(one.isHeld).toBe(false);
  });

  it('forgets a reader that ends while it waits', async () => {
    const all = new KeptBytes(MEBIBYTE);
    const readers = [reader(), reader(), reader()];
    for (const one of readers) all.tell(one, 2 * MEBIBYTE);
    const [first, second, third] = readers;
    if (!first || !second || !third) throw new Error('three readers');
    all.tell(second, 0);
    all.tell(first, 0);
    await settled();
    expect([third.isHeld, all.waiting]).toEqual([false, 0]);
  });

  it('lets readers go on when its limit is raised', async () => {
    const all = new KeptBytes(MEBIBYTE);
    const readers = [reader(), reader()];
    for (const one of readers) all.tell(one, 2 * MEBIBYTE);
    all.limit = 10 * MEBIBYTE;
    await settled();
    expect([all.waiting, all.limit]).toEqual([0, 10 * MEBIBYTE]);
  });

  it('does not count keepers of little', () => {
    const all = new KeptBytes(MEBIBYTE);
    const readers = Array.from({ length: 100 }, reader);
    for (const one of readers) all.tell(one, MEBIBYTE);
    expect([all.used, held(readers).includes(true)]).toEqual([0, false]);
  });
});
