import { expect, it } from '@jest/globals';
import { openRoots } from './image-provenance.ts';

it('opens the roots of a process once, and again where that failed', async () => {
  let failures = 1;
  const load = () => (failures-- > 0 ? Promise.reject(new Error('no memory')) : import('./trust-roots.ts'));
  const roots = openRoots({ folder: undefined, cache: undefined, now: Date.now }, load);
  await expect(roots()).rejects.toThrow('no memory');
  expect(await roots()).toBe(await roots());
});
