import { describe, expect, it } from '@jest/globals';
import { dropMembers, isEmptyObject } from './drop-members.ts';
import { splice } from './splice.ts';

function without(text: string, ...keys: string[]): string {
  const body = Buffer.from(text);
  return splice(
    body,
    dropMembers(body.toString('latin1'), 0, (key) => keys.includes(key)),
  ).toString();
}

describe('dropMembers', () => {
  it.each([
    ['{"a":1,"b":2,"c":3}', ['a'], '{"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['b'], '{"a":1,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['c'], '{"a":1,"b":2}'],
    ['{"a":1,"b":2,"c":3}', ['b', 'c'], '{"a":1}'],
    ['{"a":1,"b":2,"c":3}', ['a', 'c'], '{"b":2}'],
    ['{ "a" : {"a":[1]} , "ü":"€" }', ['ü'], '{ "a" : {"a":[1]} }'],
    ['{"a":1,"b":"{\\"a\\":1}"}', ['a', 'b'], '{}'],
    ['{"\\u0061":1,"b":2}', ['a'], '{"b":2}'],
    ['{"a":1}', ['x'], '{"a":1}'],
    ['{}', ['a'], '{}'],
  ])('removes from %s the members %j', (text, keys, expected) => {
    expect(without(text, ...keys)).toBe(expected);
  });
});

describe('isEmptyObject', () => {
  it.each([
    ['{}', true],
    ['{ \n}', true],
    ['{"a":1}', false],
  ])('reads %j as %s', (text, expected) => {
    expect(isEmptyObject(Buffer.from(text), 0)).toBe(expected);
  });
});
