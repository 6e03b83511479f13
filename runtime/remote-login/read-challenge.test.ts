import { describe, expect, it } from '@jest/globals';
import { readChallenge } from './read-challenge.ts';

const place = 'https://x.example/.well-known/oauth-protected-resource';

describe('readChallenge', () => {
  it.each([
    ['quoted', `Bearer resource_metadata="${place}", scope="a b"`],
    ['unquoted', `bearer scope="a b",resource_metadata=${place}`],
    [
      'after another scheme',
      `Basic realm="x", Bearer error="invalid_token", resource_metadata="${place}", scope="a b"`,
    ],
    [
      'with a name that occurs twice, of which the first counts',
      `Bearer scope="a b", resource_metadata="${place}", scope="c"`,
    ],
  ])('returns the metadata URL and the scopes: %s', (_case, header) => {
    expect(readChallenge(header)).toEqual({ resourceMetadata: place, scopes: ['a', 'b'] });
  });

  it('accepts a challenge without parameters', () => {
    expect(readChallenge('Bearer')).toEqual({ resourceMetadata: undefined, scopes: undefined });
  });

  it.each([undefined, '', 'Basic realm="bearer"', 'Bearerish x="y"'])('returns undefined for %j', (header) => {
    expect(readChallenge(header)).toBeUndefined();
  });

  it('reads a very long header quickly', () => {
    const began = performance.now();
    readChallenge(`Bearer ${'a="\\'.repeat(100_000)}`);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
