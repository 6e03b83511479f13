import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '#operator/testdata/manual-clock';
import { WorkQueue } from '#operator/queue';

/** Returns work that ends on command. */
function heldWork() {
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const work = (key: string) => {
    started.push(key);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  const endNext = async () => {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, work, endNext };
}

describe('WorkQueue', () => {
  it('works once on a key that was added several times while it waited', async () => {
    const { started, work, endNext } = heldWork();
    const queue = new WorkQueue({ work, clock: new ManualClock(), concurrency: 1 });
    for (const key of ['a', 'b', 'b', 'b']) queue.add(key);
    await endNext();
    await endNext();
    await queue.idle();
    expect(started).toEqual(['a', 'b']);
  });

  it('works again on a key that was added during its work, and never concurrently', async () => {
    const { started, work, endNext } = heldWork();
    const queue = new WorkQueue({ work, clock: new ManualClock(), concurrency: 8 });
    queue.add('a');
    queue.add('a');
    queue.add('a');
    expect(started).toEqual(['a']);
    await endNext();
    expect(started).toEqual(['a', 'a']);
    await endNext();
    await queue.idle();
    expect(started).toEqual(['a', 'a']);
  });

  it('respects its concurrency, and works on other keys beside a slow one', async () => {
    const { started, work, endNext } = heldWork();
    const queue = new WorkQueue({ work, clock: new ManualClock(), concurrency: 2 });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(started).toEqual(['a', 'b']);
    await endNext();
    expect(started).toEqual(['a', 'b', 'c']);
    await endNext();
    await endNext();
  });

  it('waits for a delay, and uses the earlier of two delays', () => {
    const { started, work } = heldWork();
    const clock = new ManualClock();
    const queue = new WorkQueue({ work, clock });
    queue.addAfter('a', 1000);
    queue.addAfter('a', 5000);
    queue.addAfter('b', 5000);
    queue.addAfter('b', 2000);
    clock.pass(999);
    expect(started).toEqual([]);
    clock.pass(1);
    expect(started).toEqual(['a']);
    clock.pass(1000);
    expect(started).toEqual(['a', 'b']);
    clock.pass(10_000);
    expect(started).toEqual(['a', 'b']);
  });

  it('drops a delay when the key is added without one', async () => {
    const { started, work, endNext } = heldWork();
    const clock = new ManualClock();
    const queue = new WorkQueue({ work, clock });
    queue.addAfter('a', 1000);
    queue.add('a');
    await endNext();
    clock.pass(1000);
    expect(started).toEqual(['a']);
  });

  it('doubles the delay with each failure of a key up to the longest, and resets it after a success', () => {
    const queue = new WorkQueue({ work: heldWork().work, clock: new ManualClock(), baseDelay: 100, maxDelay: 1000 });
    expect([1, 2, 3, 4, 5, 6].map(() => queue.failed('a'))).toEqual([100, 200, 400, 800, 1000, 1000]);
    expect(queue.failed('b')).toBe(100);
    queue.forget('a');
    expect(queue.failed('a')).toBe(100);
  });

  it('accepts no key once closed, and waits for running work', async () => {
    const { started, work, endNext } = heldWork();
    const clock = new ManualClock();
    const queue = new WorkQueue({ work, clock, concurrency: 1 });
    for (const key of ['a', 'a', 'b']) queue.add(key);
    queue.addAfter('c', 10);
    let closed = false;
    const closing = queue.close().then(() => {
      closed = true;
    });
    queue.add('d');
    // Ending work may request another attempt.
    queue.addAfter('a', 300_000);
    expect(clock.timers).toBe(0);
    await Promise.resolve();
    expect(closed).toBe(false);
    await endNext();
    await closing;
    clock.pass(10);
    expect(started).toEqual(['a']);
  });

  it('reports the number of waiting keys, and how long each has waited', async () => {
    const clock = new ManualClock();
    const waits: [string, number][] = [];
    const ends: (() => void)[] = [];
    const work = (key: string, waited: number) => {
      waits.push([key, waited]);
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    const queue = new WorkQueue({ work, clock, concurrency: 1 });
    for (const key of ['a', 'b', 'a']) queue.add(key);
    queue.addAfter('c', 60_000);
    expect(queue.depth).toBe(2);
    clock.pass(200);
    for (const key of ['a', 'b']) queue.add(key);
    clock.pass(100);
    for (let i = 0; i < 3; i += 1) {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(waits).toEqual([
      ['a', 0],
      ['b', 300],
      ['a', 300],
    ]);
    expect(queue.depth).toBe(0);
    await queue.close();
  });
});
