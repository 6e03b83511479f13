import { describe, expect, it } from '@jest/globals';
import { isSecretName, redactText } from './redact.ts';

describe('redaction', () => {
  it.each([
    'authorization',
    'Authorization',
    'proxy-authorization',
    'cookie',
    'Set-Cookie',
    'access_token',
    'accessToken',
    'token',
    'tokens',
    'client_secret',
    'clientSecret',
    'password',
    'X-Api-Key',
    'apiKey',
    'private_key',
    'code_verifier',
    'authCode',
    'credentials',
  ])('treats %s as the name of a secret', (name) => expect(isSecretName(name)).toBe(true));

  it.each([
    'progressToken',
    'maxTokens',
    'max_tokens',
    'code',
    'name',
    'tokenizer',
    'authorizationServer',
    'path',
    'next_page_token',
  ])('does not treat %s as the name of a secret', (name) => expect(isSecretName(name)).toBe(false));

  it.each([
    ['Authorization: Bearer abcdefgh.ijk', 'Authorization: Bearer [redacted]'],
    ['basic dXNlcjpwYXNz end', 'basic [redacted] end'],
    ['got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln!', 'got [redacted]!'],
    ['https://x/?a=1&access_token=s3cret&b=2', 'https://x/?a=1&access_token=[redacted]&b=2'],
    ['https://x/cb?code=s3cret#x', 'https://x/cb?code=[redacted]#x'],
    ['an ordinary sentence about a bearer of news', 'an ordinary sentence about a bearer of news'],
  ])('writes %p as %p', (text, shown) => expect(redactText(text)).toBe(shown));
});
