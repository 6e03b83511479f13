import { describe, expect, it } from '@jest/globals';
import { QueueFull, Semaphore } from './semaphore.ts';

const settled = () => new Promise(setImmediate);

/** Acquires by name and records the order in which calls begin. */
function recorded(semaphore: Semaphore) {
  const begun: string[] = [];
  const acquire = async (name: string, options: Parameters<Semaphore['acquire']>[0] = {}) => {
    const release = await semaphore.acquire(options);
    begun.push(name);
    return release;
  };
  return { begun, acquire };
}

describe('Semaphore', () => {
  it('serves calls of one key in order of arrival, and a key at its limit blocks no other key', async () => {
    const { begun, acquire } = recorded(new Semaphore({ total: 3, perKey: 2 }));
    const of = (name: string, key: string, weight = 1) => acquire(name, { key, weight });
    const [first, second] = await Promise.all([of('a1', 'a'), of('a2', 'a')]);
    const third = of('a3', 'a');
    const other = await of('b1', 'b');
    const [heavy, light] = [of('b2', 'b', 2), of('c1', 'c')];
    await settled();
    expect(begun).toEqual(['a1', 'a2', 'b1']);
    first();
    await third;
    second();
    await settled();
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'c1']);
    other();
    (await third)();
    await Promise.all([heavy, light]);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'c1', 'b2']);
  });

  it('serves the keys in turn, however many calls of one key wait', async () => {
    const { begun, acquire } = recorded(new Semaphore({ total: 1 }));
    const release = await acquire('first', { key: 'a' });
    const order = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'];
    const all = order.map(async (name) => (await acquire(name, { key: name.slice(0, 1) }))());
    release();
    await Promise.all(all);
    expect(begun).toEqual(['first', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('lets no light call overtake a heavy call of the same key, except a call of weight 0', async () => {
    const { begun, acquire } = recorded(new Semaphore({ total: 4 }));
    const first = await acquire('first', { weight: 2 });
    const heavy = acquire('heavy', { weight: 4 });
    const light = acquire('light');
    (await acquire('nothing', { weight: 0 }))();
    await settled();
    expect(begun).toEqual(['first', 'nothing']);
    first();
    (await heavy)();
    const last = await light;
    expect(begun).toEqual(['first', 'nothing', 'heavy', 'light']);
    const stop = new AbortController();
    const aborted = expect(acquire('aborted', { weight: 4, signal: stop.signal })).rejects.toMatchObject({
      name: 'AcquireAborted',
    });
    const behind = acquire('behind');
    stop.abort(new Error('too late'));
    await aborted;
    (await behind)();
    last();
  });

  it('lets no light call of another key overtake a heavy call that waits for the total limit', async () => {
    const { begun, acquire } = recorded(new Semaphore({ total: 2 }));
    const release = await acquire('first', { key: 'a' });
    const all = [acquire('heavy', { key: 'b', weight: 2 }), acquire('light', { key: 'c' })];
    await settled();
    expect(begun).toEqual(['first']);
    release();
    for (const next of all) (await next)();
    expect(begun).toEqual(['first', 'heavy', 'light']);
  });

  it('releases when the work ends or fails, and stops waiting on abort', async () => {
    const semaphore = new Semaphore({ total: 1 });
    await expect(semaphore.run({}, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    const release = await semaphore.acquire({ key: 'a' });
    expect([semaphore.holds('a'), semaphore.holds('b')]).toEqual([true, false]);
    const stop = new AbortController();
    const late = semaphore.acquire({ signal: stop.signal });
    const cause = new Error('too late');
    stop.abort(cause);
    await expect(late).rejects.toMatchObject({ name: 'AcquireAborted', cause });
    await expect(semaphore.acquire({ signal: stop.signal })).rejects.toMatchObject({ name: 'AcquireAborted', cause });
    release();
    expect(semaphore.holds('a')).toBe(false);
    (await semaphore.acquire())();
  });

  it('releases a weight once, however often it is asked to', async () => {
    const { begun, acquire } = recorded(new Semaphore({ total: 1 }));
    const release = await acquire('first');
    const all = [acquire('second'), acquire('third')];
    release();
    release();
    await settled();
    expect(begun).toEqual(['first', 'second']);
    for (const next of all) (await next)();
  });

  it('rejects a call when the queue or the queue of its key is full', async () => {
    const semaphore = new Semaphore({ total: 1, queue: 3, queuePerKey: 2 });
    const acquire = (key: string) => semaphore.acquire({ key });
    const release = await acquire('a');
    const waiting = [acquire('a'), acquire('a')];
    await expect(acquire('a')).rejects.toMatchObject({ limit: 'queuePerKey' });
    const other = acquire('b');
    const refused = acquire('c');
    await expect(refused).rejects.toThrow(QueueFull);
    await expect(refused).rejects.toMatchObject({ limit: 'queue' });
    release();
    await Promise.all([...waiting, other].map(async (next) => (await next)()));
    (await acquire('a'))();
  });

  it('rejects a weight above a limit without blocking others', async () => {
    const all = new Semaphore({ total: 4 });
    for (const weight of [5, Number.NaN]) await expect(all.acquire({ weight })).rejects.toThrow(RangeError);
    (await all.acquire({ weight: 4 }))();
    const shared = new Semaphore({ total: 4, perKey: 2 });
    await expect(shared.acquire({ key: 'a', weight: 3 })).rejects.toThrow('weight 3 exceeds 2');
    (await shared.acquire({ key: 'a', weight: 2 }))();
  });
});
