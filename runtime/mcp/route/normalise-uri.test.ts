import { describe, expect, it } from '@jest/globals';
import { spellingsOf } from './normalise-uri.ts';

describe('spellingsOf', () => {
  it.each([
    ['SDK://one', 'sdk://one'],
    ['sdk://items/%37', 'sdk://items/7'],
    ['file:///a/../b/%2e%2E/c', 'file:///c'],
    ['https://Example.COM:443/a', 'https://example.com/a'],
    [' sdk://o\tne\n', 'sdk://one'],
    ['sdk://items/%c3%a9%2f', 'sdk://items/%C3%A9%2F'],
    ['file:///a/%252e', 'file:///a/%252e'],
  ])('normalises %j to %j', (uri, normal) => {
    expect(spellingsOf(uri).at(-1)).toBe(normal);
    expect(spellingsOf(normal)).toEqual([normal]);
  });

  it('includes the spelling of a URL parser, which keeps escapes', () => {
    expect(spellingsOf('SDK://a%7eb%2f%41')).toEqual(['SDK://a%7eb%2f%41', 'sdk://a%7eb%2f%41', 'sdk://a~b%2FA']);
  });

  it('unescapes exactly the unreserved characters', () => {
    for (let code = 0; code < 256; code++) {
      const hex = code.toString(16).padStart(2, '0');
      const character = String.fromCharCode(code);
      const expected = /[\w.~-]/.test(character) ? character : `%${hex.toUpperCase()}`;
      for (const escape of [`%${hex}`, `%${hex.toUpperCase()}`])
        expect(spellingsOf(`sdk://x/y${escape}`).at(-1)).toBe(`sdk://x/y${expected}`);
    }
  });

  it.each(['sdk://one', 'file:///a%20b', 'ui://app/index.html', 'no url', ''])('keeps %j', (uri) => {
    expect(spellingsOf(uri)).toEqual([uri]);
  });
});
