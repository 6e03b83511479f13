import { expect, it } from '@jest/globals';
import { openRoots } from './image-provenance.ts';

it('openRoots loads the roots once per process, and again after a failure', async () => {
  let failures = 1;
  const load = () => (failures-- > 0 ? Promise.reject(new Error('no memory')) : import('./trust-roots.ts'));
  const roots = openRoots({ folder: undefined, cache: undefined, now: Date.now }, load);
  await expect(roots()).rejects.toThrow('no memory');
  expect(await roots()).toBe(await roots());
});
