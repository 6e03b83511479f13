import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newId } from '../ids.ts';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import { readCode, writeCode } from './authorization-code.ts';
import { readRefreshToken, writeRefreshToken } from './refresh-token.ts';

const file = (letter: string) => ({ file: letter, content: Buffer.from(letter.repeat(32)) });
const deps = { now: () => 0, random: randomBytes };
const ring = createSecretRing([file('a'), file('b')], deps);
const stranger = createSecretRing([file('c')], deps);

const id = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('base64url'));
const gen = fc.integer({ min: 0, max: 9_999_999_999 });
/** Replaces, removes or inserts one character. */
const damage = fc.record({
  at: fc.nat(),
  how: fc.constantFrom('replace', 'remove', 'insert'),
  by: fc.constantFrom('A', 'b', '0', '-', '_', '.', '=', '+', '/', ' ', '\n', '%', 'é'),
});
function damaged(text: string, { at, how, by }: { at: number; how: string; by: string }): string {
  const place = at % text.length;
  const rest = how === 'insert' ? text.slice(place) : text.slice(place + 1);
  return text.slice(0, place) + (how === 'remove' ? '' : by) + rest;
}
/** Returns the content, or undefined when the secret is unknown. */
function readOf<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

describe('codes and refresh tokens', () => {
  it('return the content that was written', () => {
    fc.assert(fc.property(id, (value) => readCode(ring, writeCode(ring, value)) === value));
    fc.assert(
      fc.property(id, gen, (secret, count) => {
        for (const kid of ring.status.kids) {
          const token = writeRefreshToken(ring, kid, { secret, gen: count });
          expect(readRefreshToken(ring, token)).toEqual({ secret, gen: count });
        }
      }),
    );
  });

  it('return nothing after a change of one character', () => {
    fc.assert(
      fc.property(id, gen, damage, (secret, count, change) => {
        const texts = [writeCode(ring, secret), writeRefreshToken(ring, ring.kid, { secret, gen: count })];
        for (const text of texts) {
          const other = damaged(text, change);
          if (other === text) continue;
          expect(readOf(() => readCode(ring, other))).toBeUndefined();
          expect(readOf(() => readRefreshToken(ring, other))).toBeUndefined();
        }
      }),
      { numRuns: 500 },
    );
  });

  it('return nothing for other text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\w-]{12}\.[\w-]{43}\.\d{1,3}\.[\w-]{43}$/)), (text) => {
        expect(readOf(() => readCode(ring, text))).toBeUndefined();
        expect(readOf(() => readRefreshToken(ring, text))).toBeUndefined();
      }),
    );
  });

  it('reject each other, and tokens under another secret', () => {
    const secret = newId();
    const code = writeCode(ring, secret);
    const token = writeRefreshToken(ring, ring.kid, { secret, gen: 0 });
    expect(readOf(() => readRefreshToken(ring, code))).toBeUndefined();
    expect(readOf(() => readCode(ring, token))).toBeUndefined();
    expect(() => readCode(ring, writeCode(stranger, secret))).toThrow('secret');
    const relabelled = writeCode(stranger, secret).replace(stranger.kid, ring.kid);
    expect(readCode(ring, relabelled)).toBeUndefined();
  });
});
