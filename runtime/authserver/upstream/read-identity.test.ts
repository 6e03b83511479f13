import { describe, expect, it } from '@jest/globals';
import { UpstreamUnavailable } from './provider.ts';
import { readIdentity, type IdentityFields } from './read-identity.ts';

const ISSUER = 'https://login.example';
const USUAL: IdentityFields = { subject: ['sub'], name: ['name'], email: ['email'] };

const read = (about: Readonly<Record<string, unknown>>, fields: Partial<IdentityFields> = {}) =>
  readIdentity('okta', about, { issuer: ISSUER, fields: { ...USUAL, ...fields }, keepClaims: true });

describe('readIdentity', () => {
  it.each([[false], ['false']])('rejects an unverified address as the subject (%j)', (email_verified) => {
    const about = { sub: 'u1', email: 'boss@example.com', email_verified };
    expect(() => read(about, { subject: ['email'] })).toThrow(UpstreamUnavailable);
    expect(read(about)).toMatchObject({ subject: 'u1', email: undefined, email_verified: false });
    expect(read({ ...about, email_verified: true }, { subject: ['email'] })).toMatchObject({
      subject: 'boss@example.com',
    });
  });

  it('rejects an unpaired surrogate in the subject, and replaces it in a name', () => {
    expect(() => read({ sub: 'u\ud800' })).toThrow(UpstreamUnavailable);
    expect(read({ sub: 'u1', name: 'Ann \ud83d', email: 'a\udc00@x' })).toMatchObject({
      name: 'Ann \ufffd',
      email: 'a\ufffd@x',
    });
  });

  it.each([
    [{ sub: 1.5 }],
    [{ sub: 2 ** 60 }],
    [{ sub: '' }],
    [{ sub: null }],
    [{ sub: ['u1'] }],
    [{ sub: { toString: 'u1' } }],
  ])('rejects %j', (about) => {
    expect(() => read(about)).toThrow(UpstreamUnavailable);
  });

  it('ignores members that every object has', () => {
    for (const path of [
      'constructor',
      '__proto__',
      'constructor.name',
      '__proto__.constructor.name',
      'toString.name',
    ]) {
      expect(() => read({ sub: 'u1' }, { subject: [path] })).toThrow(UpstreamUnavailable);
    }
    const about = JSON.parse('{"sub":"u1","__proto__":{"admin":true},"constructor":"x"}') as Record<string, unknown>;
    const { claims } = read(about);
    expect(Object.getPrototypeOf(claims)).toBe(Object.prototype);
    expect((claims as { admin?: unknown }).admin).toBeUndefined();
  });

  it('returns members of objects by path, and prefers a claim of the same name', () => {
    const nested = { realm_access: { roles: ['dev'], more: { level: 2, none: null } }, list: [{ a: 1 }] };
    expect(read({ sub: 'u1', ...nested, 'realm_access.roles': 'own' }).claims).toEqual({
      'realm_access.roles': 'own',
      'realm_access.more.level': 2,
    });
    expect(read({ sub: 'u1', ...nested }).claims).toMatchObject({ 'realm_access.roles': ['dev'] });
  });

  it('keeps the groups of a list with other values', () => {
    const about = { sub: 'u1', groups: ['dev', { id: 7 }, 'ops'], realm_access: { roles: [null, 'admin'] } };
    expect(read(about).claims).toEqual({
      groups: ['dev', null, 'ops'],
      'realm_access.roles': [null, 'admin'],
    });
  });

  it('drops claims of the protocol', () => {
    const about = { sub: 'u1', iss: 'x', aud: 'x', exp: 1, jti: 'x', nonce: 'x', azp: 'x', groups: ['dev'] };
    expect(read(about).claims).toEqual({ groups: ['dev'] });
  });
});
