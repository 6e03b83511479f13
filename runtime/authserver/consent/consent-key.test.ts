import { describe, expect, it } from '@jest/globals';
import { consentKey } from './consent-key.ts';

const request = {
  client_id: 'registered',
  redirect_uri: 'http://127.0.0.1:1/callback',
  scope: ['mcp', 'offline_access'],
};
const DOCUMENT = 'https://app.example.com/client.json';

describe('consentKey', () => {
  it('ignores the port on loopback and the order of scopes', () => {
    const key = consentKey(request);
    expect(key).toBeDefined();
    expect(consentKey({ ...request, redirect_uri: 'http://127.0.0.1:2/callback' })).toBe(key);
    expect(consentKey({ ...request, scope: ['offline_access', 'mcp'] })).toBe(key);
  });

  it.each([
    ['client', { client_id: 'other' }],
    ['path', { redirect_uri: 'http://127.0.0.1:1/other' }],
    ['loopback name', { redirect_uri: 'http://localhost:1/callback' }],
    ['port of a site', { redirect_uri: 'https://app.example.com:1/callback' }],
    ['scope', { scope: ['mcp'] }],
  ])('differs by %s', (_, changes) => {
    expect(consentKey({ ...request, ...changes })).not.toBe(consentKey(request));
  });

  it('differs by the port of a site', () => {
    const at = (redirect_uri: string) => consentKey({ ...request, redirect_uri });
    expect(at('https://app.example.com/x')).not.toBe(at('https://app.example.com:8443/x'));
  });

  it('returns undefined for a local client with a metadata document, whose name any program can claim', () => {
    expect(consentKey({ ...request, client_id: DOCUMENT })).toBeUndefined();
    expect(consentKey({ ...request, client_id: DOCUMENT, redirect_uri: 'cursor://anysphere/cb' })).toBeUndefined();
    expect(consentKey({ ...request, client_id: DOCUMENT, redirect_uri: 'https://app.example.com/x' })).toBeDefined();
  });
});
