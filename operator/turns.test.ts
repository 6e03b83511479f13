import { describe, expect, it } from '@jest/globals';
import { NoTurn, Turns } from './turns.ts';

const never = new AbortController().signal;

describe('turns', () => {
  it('are taken in the order in which they were asked for, and one that waits for room of its own holds up no other', async () => {
    const turns = new Turns({ most: 3, each: 2 });
    const begun: string[] = [];
    const take = async (name: string, who: string, weight = 1) => {
      const release = await turns.take(never, who, weight);
      begun.push(name);
      return release;
    };
    const [first, second] = await Promise.all([take('a1', 'a'), take('a2', 'a')]);
    const third = take('a3', 'a');
    const other = await take('b1', 'b');
    const [heavy, light] = [take('b2', 'b', 2), take('c1', 'c')];
    await new Promise(setImmediate);
    expect(begun).toEqual(['a1', 'a2', 'b1']);
    first();
    await third;
    second();
    await new Promise(setImmediate);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'c1']);
    other();
    (await third)();
    await Promise.all([heavy, light]);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'c1', 'b2']);
  });

  it('come in order where one may have everything: what is short does not pass what is long, but what needs no room', async () => {
    const turns = new Turns({ most: 4 });
    const begun: string[] = [];
    const take = async (name: string, weight: number, signal = never) => {
      const release = await turns.take(signal, '', weight);
      begun.push(name);
      return release;
    };
    const first = await take('first', 2);
    const long = take('long', 4);
    const short = take('short', 1);
    (await take('nothing', 0))();
    await new Promise(setImmediate);
    expect(begun).toEqual(['first', 'nothing']);
    first();
    (await long)();
    const last = await short;
    expect(begun).toEqual(['first', 'nothing', 'long', 'short']);
    const stop = new AbortController();
    const given = expect(take('given up', 4, stop.signal)).rejects.toMatchObject({ why: 'given up' });
    const behind = take('behind', 1);
    stop.abort(new Error('too late'));
    await given;
    (await behind)();
    last();
  });

  it('end with what has them, and are not waited for longer than somebody wants to', async () => {
    const turns = new Turns({ most: 1 });
    await expect(turns.run(never, '', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    const release = await turns.take(never);
    const stop = new AbortController();
    const late = turns.take(stop.signal);
    const cause = new Error('too late');
    stop.abort(cause);
    await expect(late).rejects.toMatchObject({ why: 'given up', cause });
    await expect(turns.take(stop.signal)).rejects.toMatchObject({ why: 'given up', cause });
    release();
    (await turns.take(never))();
  });

  it('are waited for by so many of all and of one, and no more', async () => {
    const turns = new Turns({ most: 1, queue: 3, queueOfOne: 2 });
    const release = await turns.take(never, 'a');
    const waiting = [turns.take(never, 'a'), turns.take(never, 'a')];
    await expect(turns.take(never, 'a')).rejects.toMatchObject({ why: 'too many of one wait' });
    const other = turns.take(never, 'b');
    const refused = turns.take(never, 'c');
    await expect(refused).rejects.toThrow(NoTurn);
    await expect(refused).rejects.toMatchObject({ why: 'too many wait' });
    release();
    for (const next of [...waiting, other]) (await next)();
    (await turns.take(never, 'a'))();
  });

  it('are refused to what would never have room, and holds up nobody', async () => {
    const all = new Turns({ most: 4 });
    for (const weight of [5, Number.NaN]) await expect(all.take(never, '', weight)).rejects.toThrow(RangeError);
    (await all.take(never, '', 4))();
    const shared = new Turns({ most: 4, each: 2 });
    await expect(shared.take(never, 'a', 3)).rejects.toThrow('3 is more than 2');
    (await shared.take(never, 'a', 2))();
  });
});
