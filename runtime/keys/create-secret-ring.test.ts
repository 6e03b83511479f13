import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ConfigError } from '#runtime/errors';
import { createSecretRing } from './create-secret-ring.ts';
import type { KeyFile } from './key-file.ts';
import { SealBroken, UnknownSecret } from './secret-ring.ts';

const secret = (file: string, content: string | Buffer): KeyFile => ({ file, content: Buffer.from(content) });
const first = secret('first', 'a'.repeat(32));
const second = secret('second', 'b'.repeat(32));
const deps = () => {
  const at = { time: 1_800_000_000_000 };
  return { at, now: () => at.time, random: randomBytes };
};

describe('SecretRing', () => {
  it('verifies its own MACs, and refuses every other text, MAC and length', () => {
    const ring = createSecretRing([first, second], deps());
    const mac = ring.mac(ring.kid, 'code|abc');
    expect(ring.verify(ring.kid, 'code|abc', mac)).toBe(true);
    expect(ring.verify(ring.kid, 'code|abd', mac)).toBe(false);
    for (const wrong of ['', mac.slice(1), `${mac}A`, `${mac}=`, ring.mac(ring.kid, 'rt|abc')])
      expect(ring.verify(ring.kid, 'code|abc', wrong)).toBe(false);
    expect(ring.verify(ring.status.kids[1]!, 'code|abc', mac)).toBe(false);
    expect(() => ring.verify('unheard-of', 'code|abc', mac)).toThrow(UnknownSecret);
  });

  it('derives the same keys from the same secret in every process, regardless of the final line break', () => {
    const ring = createSecretRing([first], deps());
    const other = createSecretRing([secret('elsewhere', `${'a'.repeat(32)}\r\n`)], deps());
    expect(other.kid).toBe(ring.kid);
    expect(other.verify(ring.kid, 'x', ring.mac(ring.kid, 'x'))).toBe(true);
    expect(other.open(ring.seal('tokens', 'place'), 'place').plain).toBe('tokens');
  });

  it('uses random bytes unchanged, including line breaks', () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe]), randomBytes(28), Buffer.from('\r\n')]);
    expect(() => createSecretRing([secret('bytes', bytes)], deps())).not.toThrow();
    expect(() => createSecretRing([secret('bytes', bytes.subarray(0, 31))], deps())).toThrow(ConfigError);
  });

  it('refuses a secret of less than 32 bytes, naming the file and the remedy', () => {
    const short = secret('secrets/short', `${'s'.repeat(31)}\n\n\n`);
    expect(() => createSecretRing([first, short], deps())).toThrow(/^secrets\/short: .*openssl rand/);
    expect(() => createSecretRing([first, short], deps())).not.toThrow(/sss/);
  });

  it('names a secret without revealing it, and uses one key for each purpose', () => {
    const ring = createSecretRing([first], deps());
    expect(ring.kid).toMatch(/^[A-Za-z0-9_-]{12}$/);
    expect(ring.kid).not.toBe(createSecretRing([second], deps()).kid);
    expect(ring.mac(ring.kid, 'x')).not.toBe(ring.seal('x', '').split('.')[2]);
  });

  it('seals text and its context against changes', () => {
    const ring = createSecretRing([first], deps());
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.nat(), (plain, aad, otherAad, at) => {
        const sealed = ring.seal(plain, aad);
        expect(sealed.split('.')[0]).toBe(ring.kid);
        expect(ring.open(sealed, aad)).toEqual({ plain, stale: false });
        if (otherAad !== aad) expect(() => ring.open(sealed, otherAad)).toThrow(SealBroken);
        const [kid, iv = '', text = ''] = sealed.split('.');
        const bytes = Buffer.from(text, 'base64url');
        bytes[at % bytes.length]! ^= 1;
        expect(() => ring.open([kid, iv, bytes.toString('base64url')].join('.'), aad)).toThrow(SealBroken);
        expect(() => ring.open([kid, iv, text, ''].join('.'), aad)).toThrow(SealBroken);
        expect(() => ring.open([kid, iv, text.slice(0, 10)].join('.'), aad)).toThrow(SealBroken);
      }),
      { numRuns: 100 },
    );
    expect(ring.seal('x', 'y')).not.toBe(ring.seal('x', 'y'));
  });

  it('reports whether a row is sealed under an older or an unknown secret', () => {
    const sealed = createSecretRing([second], deps()).seal('tokens', 'place');
    expect(createSecretRing([first, second], deps()).open(sealed, 'place')).toEqual({ plain: 'tokens', stale: true });
    expect(() => createSecretRing([first], deps()).open(sealed, 'place')).toThrow(UnknownSecret);
  });

  it('verifies with a new first secret at once, and signs with it after 120 seconds', () => {
    const { at, ...rest } = deps();
    const ring = createSecretRing([first], rest);
    const before = ring.kid;
    const fresh = createSecretRing([second], rest);
    at.time += 5000;
    ring.update([second, first]);
    expect(ring.changedAt).toBe(at.time);
    expect(ring.verify(fresh.kid, 'x', fresh.mac(fresh.kid, 'x'))).toBe(true);
    const sealed = ring.seal('x', 'y');
    at.time += 119_999;
    expect(ring.kid).toBe(before);
    expect(ring.open(sealed, 'y').stale).toBe(false);
    at.time += 1;
    expect(ring.kid).toBe(fresh.kid);
    expect(ring.status).toEqual({ kids: [fresh.kid, before], making: fresh.kid, ephemeral: false });
    expect(ring.open(sealed, 'y').stale).toBe(true);
    ring.update([second]);
    expect(() => ring.open(sealed, 'y')).toThrow(UnknownSecret);
  });

  it('signs with a new secret at once if no former one remains', () => {
    const ring = createSecretRing([first], deps());
    ring.update([second]);
    expect(ring.kid).toBe(createSecretRing([second], deps()).kid);
  });

  it('keeps the former secrets if a new one is too short', () => {
    const ring = createSecretRing([first], deps());
    const before = ring.status;
    expect(() => ring.update([secret('short', 'x'), first])).toThrow(ConfigError);
    expect(ring.status).toEqual(before);
  });

  it('creates its own secret if none is configured, and warns about the loss on restart', () => {
    const { at, ...rest } = deps();
    const ring = createSecretRing([], rest);
    expect(ring.status.ephemeral).toBe(true);
    expect(ring.warnings).toEqual([expect.stringContaining('everybody has to log in again')]);
    const sealed = ring.seal('x', 'y');
    ring.update([first]);
    at.time += 120_000;
    expect(ring.status.ephemeral).toBe(false);
    expect(ring.warnings).toEqual([]);
    expect(ring.open(sealed, 'y')).toEqual({ plain: 'x', stale: true });
  });
});
