import { expect, it } from '@jest/globals';
import { compareVersions } from './section.ts';

it.each([
  ['9', '10', -1],
  ['10', '9', 1],
  ['18446744073709551615', '18446744073709551616', -1],
  ['7', '7', 0],
  ['7', undefined, 0],
  [undefined, '7', 0],
  ['7', 'x', 0],
])('compareVersions orders versions numerically: %p, %p', (a, b, order) => {
  expect(compareVersions(a, b)).toBe(order);
});
