import { describe, expect, it } from '@jest/globals';
import { OAuthError } from '../errors.ts';
import { checkRedirectUri, isAllowedHost } from './check-redirect-uri.ts';

describe('checkRedirectUri', () => {
  it.each([
    'https://app.example.com/callback',
    'https://app.example.com:8443/callback?fixed=1',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:33418',
    'http://localhost:6274/oauth/callback/debug',
    'http://[::1]:8080/x',
    'cursor://anysphere.cursor-retrieval/oauth/user-desktop/callback',
    'com.example.app:/oauth2redirect',
    'vscode://vscode.github-authentication/did-authenticate',
  ])('accepts %s', (uri) => {
    expect(() => checkRedirectUri(uri)).not.toThrow();
  });

  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://app.example.com/1',
    'about:blank',
    'view-source:https://app.example.com/',
    'search-ms:query=x&crumb=location:evil.example',
    'ms-msdt:/id',
    'ssh://evil.example',
    'ITMS-Services://?action=download-manifest',
    'https://app.example.com/callback#fragment',
    'https://app.example.com/callback#',
    'https://user@app.example.com/callback',
    'https://user:password@app.example.com/callback',
    'https://@app.example.com/callback',
    'cursor://user@host/callback',
    'http://app.example.com/callback',
    'http://192.168.1.10/callback',
    'http://2130706433/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.0.0.1@evil.example/callback',
    'https:app.example.com',
    'https:///callback',
    'https://app.example.com/a b',
    'https://app.example.com\\callback',
    'https://app.example.com/\r\nSet-Cookie: a=b',
    'https://exämple.com/callback',
    '/callback',
    'callback',
    '',
    `https://app.example.com/${'x'.repeat(2048)}`,
  ])('rejects %j', (uri) => {
    expect(() => checkRedirectUri(uri)).toThrow(OAuthError);
    expect(() => checkRedirectUri(uri)).toThrow(expect.objectContaining({ code: 'invalid_redirect_uri', status: 400 }));
  });
});

describe('isAllowedHost', () => {
  const hosts = ['app.example.com', '*.trusted.example', 'port.example:8443'];

  it.each([
    ['https://app.example.com/x', true],
    ['https://app.example.com:9000/x', true],
    ['https://a.trusted.example/x', true],
    ['https://trusted.example/x', false],
    ['https://nottrusted.example/x', false],
    ['https://port.example:8443/x', true],
    ['https://port.example/x', false],
    ['https://evil.example/x', false],
    ['HTTPS://evil.example/x', false],
    ['http://127.0.0.1:1/x', true],
    ['cursor://evil/x', true],
  ])('returns for %s: %s', (uri, allowed) => {
    expect(isAllowedHost(uri, hosts)).toBe(allowed);
  });

  it('allows all hosts without a configured list', () => {
    expect(isAllowedHost('https://anything.example/x', undefined)).toBe(true);
  });
});
