import { describe, expect, it } from '@jest/globals';
import { clientSecretBasic } from './client-secret-basic.ts';

function pairOf(id: string, secret: string): string {
  const headers = new Headers();
  clientSecretBasic(secret)({ issuer: 'https://id.example' }, { client_id: id }, new URLSearchParams(), headers);
  return Buffer.from(headers.get('authorization')?.replace('Basic ', '') ?? '', 'base64').toString();
}

describe('clientSecretBasic', () => {
  it('leaves characters alone that the form encoding leaves alone', () => {
    expect(pairOf('5b2c-41_a.x*', 'se-cret_1')).toBe('5b2c-41_a.x*:se-cret_1');
  });

  it('encodes what would end the client id, and what is no ASCII', () => {
    expect(pairOf('a:b c', 'é%+')).toBe('a%3Ab+c:%C3%A9%25%2B');
  });
});
