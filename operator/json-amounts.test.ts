import { expect, it } from '@jest/globals';
import { excessOf } from './json-amounts.ts';

const excess = (value: unknown) => excessOf(JSON.stringify(value), { objects: 3, values: 6, depth: 4 });

it.each([
  [{ a: {}, b: {} }, undefined],
  [{ a: {}, b: {}, c: {} }, 'more than 3 objects'],
  [[1, 2, 3, 4, 5, 6], undefined],
  [[1, 2, 3, 4, 5, 6, 7], 'more than 6 values'],
  [{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 }, 'more than 6 values'],
  [[[[]], [[]]], undefined],
  [[[[[[]]]]], 'more than 4 lists and objects within each other'],
  ['{{{{[[[[[[[,,,,,,,,', undefined],
  ['"{{{{\\"', undefined],
  [['\\', 1, 2, 3, 4, 5, 6, 7], 'more than 6 values'],
])('excessOf counts values outside of strings only: %j', (value, told) => {
  expect(excess(value)).toBe(told);
});

it('excessOf counts in an invalid JSON text, too', () => {
  expect(excessOf('"{'.repeat(10), { objects: 3, values: 6 })).toBe('more than 3 objects');
  expect(excessOf(`"${'\\"'.repeat(10)}`, { objects: 3, values: 6 })).toBeUndefined();
});
