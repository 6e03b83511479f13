import { expect, it } from '@jest/globals';
import { limitChecks } from './limit-checks.ts';

it('limitChecks reserves checks for other callers when one caller reaches its limit', async () => {
  const limit = limitChecks(2);
  const { promise: end, resolve: endAll } = Promise.withResolvers<string>();
  const look = () => end;
  const going = ['one', 'one'].map((who) => limit(who, look));
  await expect(limit('one', look)).rejects.toMatchObject({
    code: 'too_many_requests',
    headers: { 'Retry-After': '5' },
  });
  going.push(limit('two', look), limit('two', look));
  await expect(limit('three', look)).rejects.toMatchObject({ code: 'unavailable', headers: { 'Retry-After': '5' } });
  endAll('seen');
  expect(await Promise.all(going)).toEqual(Array(4).fill('seen'));
  expect(await limit('one', look)).toBe('seen');
});
