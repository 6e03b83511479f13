import { describe, expect, it } from '@jest/globals';
import { changedFields } from './changed-fields.ts';

describe('changedFields', () => {
  it.each<[object, object, string[]]>([
    [{ a: 1 }, { a: 1, b: 2 }, []],
    [{ a: { b: 1, c: 2 } }, { a: { b: 2, c: 2 } }, ['a.b']],
    [{ data: { 'run-config.yaml': 'x' } }, { data: {} }, ['data[run-config.yaml]']],
    [{ list: [{ name: 'x', v: 1 }] }, { list: [{ name: 'x', v: 2 }] }, ['list[x].v']],
    [{ list: [1, 2] }, { list: [1] }, ['list']],
    [{ list: [1] }, { list: { 0: 1 } }, ['list']],
    [{ limits: { cpu: '1000m' } }, { limits: { cpu: '1' } }, []],
  ])('lists the fields of %j that %j lacks: %j', (desired, live, fields) => {
    expect(changedFields(desired, live)).toEqual(fields);
  });

  it('lists at most eight, without values', () => {
    const desired = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`f${i}`, `secret-${i}`]));
    const fields = changedFields(desired, {});
    expect(fields).toHaveLength(9);
    expect(fields.at(-1)).toBe('and 2 more');
    expect(fields.join()).not.toContain('secret');
  });
});
