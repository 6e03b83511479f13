import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { matchRedirectUri } from './match-redirect-uri.ts';

const WEB = 'https://app.example.com/oauth/callback';
const LOOPBACK = 'http://127.0.0.1:33418/callback';

describe('matchRedirectUri', () => {
  it('accepts a registered URI, byte for byte', () => {
    expect(matchRedirectUri(WEB, [LOOPBACK, WEB])).toBe(true);
    expect(matchRedirectUri('cursor://anysphere/callback', ['cursor://anysphere/callback'])).toBe(true);
  });

  it.each([
    ['another case of the host', 'https://APP.example.com/oauth/callback'],
    ['another case of the path', 'https://app.example.com/oauth/Callback'],
    ['a port', 'https://app.example.com:443/oauth/callback'],
    ['a slash at the end', `${WEB}/`],
    ['a query', `${WEB}?next=1`],
    ['an empty query', `${WEB}?`],
    ['user information', 'https://app.example.com@evil.example/oauth/callback'],
    ['a fragment', `${WEB}#x`],
    ['an empty fragment', `${WEB}#`],
    ['steps upwards', 'https://app.example.com/oauth/x/../callback'],
    ['encoded characters', 'https://app.example.com/oauth/%63allback'],
    ['a subdomain', 'https://app.example.com.evil.example/oauth/callback'],
    ['plain http', 'http://app.example.com/oauth/callback'],
    ['a backslash', 'https://app.example.com\\oauth/callback'],
  ])('rejects a URI with %s', (_, uri) => {
    expect(matchRedirectUri(uri, [WEB, LOOPBACK])).toBe(false);
  });

  it.each([
    ['another port', 'http://127.0.0.1:50000/callback'],
    ['no port', 'http://127.0.0.1/callback'],
  ])('accepts a loopback URI with %s', (_, uri) => {
    expect(matchRedirectUri(uri, [LOOPBACK])).toBe(true);
  });

  it('accepts another port on each loopback name, and no other name', () => {
    expect(matchRedirectUri('http://[::1]:1/x', ['http://[::1]/x'])).toBe(true);
    expect(matchRedirectUri('http://localhost:1/x', ['http://localhost/x'])).toBe(true);
    expect(matchRedirectUri('http://localhost:1/x', ['http://127.0.0.1/x'])).toBe(false);
  });

  it.each([
    ['a decimal address', 'http://2130706433:33418/callback'],
    ['a hexadecimal address', 'http://0x7f.0.0.1:33418/callback'],
    ['another loopback address', 'http://127.0.0.2:33418/callback'],
    ['a port in words', 'http://127.0.0.1:http/callback'],
    ['a port that there cannot be', 'http://127.0.0.1:65536/callback'],
    ['user information', 'http://127.0.0.1:33418@evil.example/callback'],
    ['a name that begins alike', 'http://127.0.0.1.evil.example/callback'],
    ['another path', 'http://127.0.0.1:50000/callback/..'],
    ['a query', 'http://127.0.0.1:50000/callback?x=1'],
    ['a fragment', 'http://127.0.0.1:50000/callback#'],
    ['https', 'https://127.0.0.1:33418/callback'],
  ])('rejects a loopback URI with %s', (_, uri) => {
    expect(matchRedirectUri(uri, [LOOPBACK])).toBe(false);
  });

  it('rejects every change of a web URI', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: WEB.length }), fc.string({ minLength: 1, maxLength: 3 }), (at, text) => {
        const changed = WEB.slice(0, at) + text + WEB.slice(at + 1);
        fc.pre(changed !== WEB);
        expect(matchRedirectUri(changed, [WEB])).toBe(false);
      }),
    );
  });

  it('never accepts another host after a loopback prefix', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 20 }), (text) => {
        const uri = `http://127.0.0.1${text}/callback`;
        fc.pre(URL.canParse(uri) && matchRedirectUri(uri, ['http://127.0.0.1/callback']));
        expect(new URL(uri).hostname).toBe('127.0.0.1');
        expect(new URL(uri).pathname).toBe('/callback');
      }),
    );
  });
});
