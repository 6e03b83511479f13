import { expect, it } from '@jest/globals';
import { ListTurns } from './list-turns.ts';

const { promise: never } = Promise.withResolvers<undefined>();

it('of one namespace few lists wait, so that others find room', async () => {
  const lists = new ListTurns();
  const list = (namespace: string) => lists.run(namespace, 'the skills', () => never);
  for (let at = 0; at < 17; at += 1) void list('team');
  const full = { code: 'unavailable', headers: { 'Retry-After': '5' } };
  await expect(list('team')).rejects.toMatchObject(full);
  expect(await lists.run('other', 'the skills', () => Promise.resolve('read'))).toBe('read');
});

it('a list is given up by who does not wait for it any more, and what it throws is told as it is', async () => {
  const lists = new ListTurns({ atOnce: 1 });
  void lists.run('team', 'the skills', () => never);
  const gone = new AbortController();
  const given = lists.run('other', 'the skills', () => never, gone.signal);
  gone.abort();
  await expect(given).rejects.toMatchObject({ code: 'unavailable' });
  const failed = new ListTurns().run('team', 'the skills', () => Promise.reject(new Error('damaged')));
  await expect(failed).rejects.toThrow('damaged');
});
