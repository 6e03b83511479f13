import { describe, expect, it } from '@jest/globals';
import { ListSemaphore } from './list-semaphore.ts';

describe('ListSemaphore', () => {
  it('bounds the lists of one namespace that wait, so that other namespaces are served', async () => {
    const lists = new ListSemaphore();
    const { promise: answered, resolve: answer } = Promise.withResolvers<string>();
    const list = () => lists.run('team', 'the skills', () => answered);
    const all = Array.from({ length: 17 }, list);
    const full = { code: 'unavailable', headers: { 'Retry-After': '5' } };
    await expect(list()).rejects.toMatchObject(full);
    expect(await lists.run('other', 'the skills', () => Promise.resolve('read'))).toBe('read');
    answer('read');
    expect(await Promise.all(all)).toEqual(new Array(17).fill('read'));
  });

  it('stops waiting when the caller is gone, and passes errors of the read on', async () => {
    const lists = new ListSemaphore({ atOnce: 1 });
    const { promise: answered, resolve: answer } = Promise.withResolvers<string>();
    const first = lists.run('team', 'the skills', () => answered);
    const gone = new AbortController();
    const given = lists.run('other', 'the skills', () => answered, gone.signal);
    gone.abort();
    await expect(given).rejects.toMatchObject({ code: 'unavailable' });
    answer('read');
    expect(await first).toBe('read');
    const failed = new ListSemaphore().run('team', 'the skills', () => Promise.reject(new Error('damaged')));
    await expect(failed).rejects.toThrow('damaged');
  });
});
