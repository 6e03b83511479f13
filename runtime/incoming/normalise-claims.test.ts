import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { buildIdentity } from './build-identity.ts';
import { ClaimsTooLarge, keepClaims, normaliseClaims, readGroups } from './normalise-claims.ts';

const isScalar = (value: unknown) =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);

describe('keepClaims', () => {
  it('keeps the groups of the token, and adds no claims for policies', () => {
    const claims = { groups: ['dev', null, { id: 1 }, 'ops', 0.5], roles: [{}, ['x']], one: 'a', deep: { a: 1 } };
    const kept = keepClaims(claims);
    expect(kept).toEqual({ groups: ['dev', null, null, 'ops', null], one: 'a' });
    expect(readGroups(kept, undefined)).toEqual(['dev', 'ops']);
    expect(normaliseClaims(kept)).toEqual({ one: 'a' });
  });

  it('reads as the token itself, for any claims', () => {
    const lists = fc.array(fc.jsonValue());
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), lists, fc.jsonValue(), (others, groups, roles) => {
        const claims = { ...others, groups, roles };
        const kept = keepClaims(claims);
        expect(readGroups(kept, undefined)).toEqual(readGroups(claims, undefined));
        expect(normaliseClaims(kept)).toEqual(normaliseClaims(claims));
      }),
      { seed: 7 },
    );
  });
});

describe('normaliseClaims', () => {
  it('keeps strings, safe integers, booleans and lists of these', () => {
    const claims = { s: 'x', i: -3, b: false, set: ['a', 'b'], none: [] };
    expect(normaliseClaims(claims)).toEqual(claims);
  });

  it('omits a claim that is not wholly such a value', () => {
    const claims = {
      nothing: null,
      fraction: 0.5,
      large: 2 ** 53,
      record: { a: 1 },
      entity: { __entity: { type: 'Client', id: 'root' } },
      extension: { __extn: { fn: 'ip', arg: '127.0.0.1' } },
      mixed: ['a', null],
      nested: [['a']],
      records: ['a', { __entity: {} }],
    };
    expect(normaliseClaims(claims)).toEqual({});
  });

  it('keeps a claim of any name without changing prototypes', () => {
    const claims = normaliseClaims(JSON.parse('{"__proto__":"x","constructor":"y"}') as Record<string, unknown>);
    expect(Object.entries(claims)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(Object.getPrototypeOf(claims)).toBe(Object.prototype);
  });

  it.each([
    ['claims', Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`c${i}`, 1]))],
    ['characters of a name', { ['n'.repeat(257)]: 1 }],
    ['characters of a value', { c: 'x'.repeat(8_193) }],
    ['characters of a member', { c: ['x'.repeat(8_193)] }],
    ['members', { c: Array.from({ length: 1_001 }, () => 1) }],
  ])('refuses too many %s', (_what, claims) => {
    expect(() => normaliseClaims(claims)).toThrow(ClaimsTooLarge);
  });

  it('returns only scalars and lists of scalars, for any token', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (claims) => {
        for (const [name, value] of Object.entries(normaliseClaims(claims))) {
          expect(value).toEqual(claims[name]);
          expect(Array.isArray(value) ? value.every(isScalar) : isScalar(value)).toBe(true);
        }
      }),
      { seed: 7 },
    );
  });
});

describe('readGroups', () => {
  it('joins groups and roles', () => {
    expect(readGroups({ groups: ['a', 'b'], roles: ['b', 'c'] }, undefined)).toEqual(['a', 'b', 'c']);
    expect(readGroups({ groups: 'only' }, undefined)).toEqual(['only']);
    expect(readGroups({}, undefined)).toEqual([]);
  });

  it('reads only the named claim, by its name or else by its path', () => {
    const claims = {
      groups: ['ignored'],
      'https://example.com/groups': ['x'],
      realm_access: { roles: ['admin', 7, null] },
    };
    expect(readGroups(claims, 'https://example.com/groups')).toEqual(['x']);
    expect(readGroups(claims, 'realm_access.roles')).toEqual(['admin']);
    expect(readGroups(claims, 'realm_access.missing.deep')).toEqual([]);
    expect(readGroups(claims, 'constructor.name')).toEqual([]);
    expect(readGroups({ 'a.b': null, a: { b: ['x'] } }, 'a.b')).toEqual(['x']);
  });

  it('refuses too many groups instead of cutting them', () => {
    expect(() => readGroups({ a: { b: Array.from({ length: 1_001 }, (_, i) => `g${i}`) } }, 'a.b')).toThrow(
      ClaimsTooLarge,
    );
  });
});

describe('identityKey', () => {
  const keyOf = (issuer: string, subject: string) =>
    buildIdentity({}, { issuer, subject, token: 't', expiresAt: 0, groupsClaim: undefined }).key;

  it('differs for every other pair of issuer and subject', () => {
    const pair = fc.tuple(fc.string(), fc.string());
    fc.assert(
      fc.property(pair, pair, (one, other) => {
        expect(keyOf(...one) === keyOf(...other)).toBe(one[0] === other[0] && one[1] === other[1]);
      }),
      { seed: 7 },
    );
    expect(keyOf('a', 'b","c')).not.toBe(keyOf('a","b', 'c'));
  });
});
