import { expect, it } from '@jest/globals';
import { ListTurns } from './list-turns.ts';

it('of one namespace few lists wait, so that others find room', async () => {
  const lists = new ListTurns();
  const { promise: answered, resolve: answer } = Promise.withResolvers<string>();
  const list = () => lists.run('team', 'the skills', () => answered);
  const all = Array.from({ length: 17 }, list);
  const full = { code: 'unavailable', headers: { 'Retry-After': '5' } };
  await expect(list()).rejects.toMatchObject(full);
  expect(await lists.run('other', 'the skills', () => Promise.resolve('read'))).toBe('read');
  answer('read');
  expect(await Promise.all(all)).toEqual(new Array(17).fill('read'));
});

it('a list is given up by who does not wait for it any more, and what it throws is told as it is', async () => {
  const lists = new ListTurns({ atOnce: 1 });
  const { promise: answered, resolve: answer } = Promise.withResolvers<string>();
  const first = lists.run('team', 'the skills', () => answered);
  const gone = new AbortController();
  const given = lists.run('other', 'the skills', () => answered, gone.signal);
  gone.abort();
  await expect(given).rejects.toMatchObject({ code: 'unavailable' });
  answer('read');
  expect(await first).toBe('read');
  const failed = new ListTurns().run('team', 'the skills', () => Promise.reject(new Error('damaged')));
  await expect(failed).rejects.toThrow('damaged');
});
