import { expect, it } from '@jest/globals';
import { SharedRead } from './shared-read.ts';

it('many who wait share one reading that begins after they asked, also after one that failed', async () => {
  const ends: ((text: string | Error) => void)[] = [];
  const shared = new SharedRead(
    () =>
      new Promise<string>((resolve, reject) => {
        ends.push((end) => (typeof end === 'string' ? resolve(end) : reject(end)));
      }),
  );
  const begun = async (count: number): Promise<void> => {
    await new Promise(setImmediate);
    expect(ends).toHaveLength(count);
  };
  const first = [shared.next(), shared.next()];
  await begun(1);
  const second = [shared.next(), shared.next()].map((reading) => reading.catch(String));
  await begun(1);
  ends[0]?.('one');
  expect(await Promise.all(first)).toEqual(['one', 'one']);
  await begun(2);
  const third = shared.next();
  ends[1]?.(new Error('no'));
  expect(await Promise.all(second)).toEqual(['Error: no', 'Error: no']);
  await begun(3);
  ends[2]?.('three');
  expect(await third).toBe('three');
});
