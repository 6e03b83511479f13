import { describe, expect, it } from '@jest/globals';
import { Quota, QuotaExceeded } from './quota.ts';

describe('Quota', () => {
  it('limits the amount of one key and leaves the rest to others', () => {
    const quota = new Quota({ total: 10, perKey: 6 });
    quota.take('a', 4);
    const release = quota.take('a', 2);
    expect(() => quota.take('a')).toThrow(expect.objectContaining({ limit: 'perKey', held: 6 }));
    quota.take('b', 4);
    expect(() => quota.take('b')).toThrow(expect.objectContaining({ limit: 'total', held: 10 }));
    release();
    quota.take('b', 2);
  });

  it('names the total if both limits are exceeded', () => {
    const quota = new Quota({ total: 1, perKey: 1 });
    quota.take('a');
    expect(() => quota.take('a')).toThrow(expect.objectContaining({ limit: 'total', held: 1 }));
  });

  it('releases an amount once, however often it is asked to', () => {
    const quota = new Quota({ perKey: 2 });
    const release = quota.take('a');
    quota.take('a');
    release();
    release();
    quota.take('a');
    expect(() => quota.take('a')).toThrow(QuotaExceeded);
  });

  it('checks an amount without taking it', () => {
    const quota = new Quota({ total: 3 });
    for (let nr = 0; nr < 3; nr += 1) quota.check('a', 3);
    expect(() => quota.check('a', 4)).toThrow(QuotaExceeded);
    quota.take('a', 3);
  });

  it('takes nothing when it rejects', () => {
    const quota = new Quota({ total: 3 });
    expect(() => quota.take('a', 4)).toThrow(QuotaExceeded);
    quota.take('a', 3);
  });

  it('gives a key its guaranteed amount although others hold the total', () => {
    const quota = new Quota({ total: 10, perKey: 12, guaranteed: 2 });
    quota.take('a', 10);
    quota.take('b');
    quota.take('b');
    expect(() => quota.take('b')).toThrow(expect.objectContaining({ limit: 'total', held: 12 }));
    expect(() => quota.take('c', 3)).toThrow(QuotaExceeded);
    quota.take('c', 2);
  });

  it('reads limits that change, and takes nothing back when they fall', () => {
    let perKey = 2;
    const quota = new Quota(() => ({ perKey }));
    const releases = [quota.take('a'), quota.take('a')];
    perKey = 1;
    releases[0]?.();
    expect(() => quota.take('a')).toThrow(expect.objectContaining({ held: 1 }));
    perKey = 3;
    quota.take('a');
    quota.take('a');
  });
});
