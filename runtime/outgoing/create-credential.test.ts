import { beforeEach, describe, expect, it } from '@jest/globals';
import { BackendAuth } from '#crds/run-config/outgoing';
import { ConfigError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import { createCredential } from './create-credential.ts';
import { ExchangedTokens } from './exchanged-tokens.ts';

const alice: Identity = {
  issuer: 'https://idp',
  subject: 'alice',
  clientId: undefined,
  scopes: [],
  groups: [],
  claims: {},
  key: 'https://idp alice',
  token: 'alice-token',
  expiresAt: Infinity,
};

let files: Record<string, string>;
let warnings: string[];
beforeEach(() => {
  files = { '/s/value': 'sesame' };
  warnings = [];
});

function create(document: unknown) {
  const ignore = () => undefined;
  return createCredential(BackendAuth.parse(document), {
    backend: 'files',
    readSecret: (file) => files[file] ?? '',
    exchanged: new ExchangedTokens({ now: Date.now }),
    now: Date.now,
    log: {
      debug: ignore,
      info: ignore,
      error: ignore,
      warn: (text, fields) => warnings.push(text + JSON.stringify(fields)),
    },
  });
}

describe('createCredential', () => {
  it('sends no credential to an unauthenticated backend, and never the caller’s bearer', () => {
    const credential = create({ type: 'unauthenticated' });
    expect(credential.headersFor(alice)).toEqual([]);
    expect(credential).toMatchObject({ authType: 'unauthenticated', perUser: false });
    expect(credential.invalidate(alice, [])).toBe(false);
  });

  it('injects a header with a file’s value', () => {
    const credential = create({ type: 'header_injection', header_name: 'X-Api-Key', value_file: '/s/value' });
    expect(credential.headersFor(alice)).toEqual(['x-api-key', 'sesame']);
    expect(credential).toMatchObject({ authType: 'headerInjection', perUser: false });
  });

  it('sends a bearer token from a file', () => {
    const credential = create({ type: 'bearer_token', token_file: '/s/value' });
    expect(credential.headersFor(alice)).toEqual(['authorization', 'Bearer sesame']);
    expect(credential.authType).toBe('bearerToken');
  });

  it('follows a changed file, but keeps a usable value over an unusable one', () => {
    const credential = create({ type: 'bearer_token', token_file: '/s/value' });
    files['/s/value'] = 'rotated';
    expect(credential.headersFor(alice)).toEqual(['authorization', 'Bearer rotated']);
    files['/s/value'] = 'two\nlines';
    expect(credential.headersFor(alice)).toEqual(['authorization', 'Bearer rotated']);
    expect(credential.headersFor(alice)).toEqual(['authorization', 'Bearer rotated']);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).not.toMatch(/two|rotated/);
  });

  it('keeps a usable value over a blank one', () => {
    const credential = create({ type: 'bearer_token', token_file: '/s/value' });
    files['/s/value'] = '   ';
    expect(credential.headersFor(alice)).toEqual(['authorization', 'Bearer sesame']);
    expect(warnings).toHaveLength(1);
  });

  it('refuses a blank value', () => {
    files['/s/blank'] = ' \t ';
    expect(() => create({ type: 'bearer_token', token_file: '/s/blank' })).toThrow(/\/s\/blank is empty/);
  });

  it('refuses an empty value and reports it', () => {
    const document = { type: 'bearer_token', token_file: '/s/none' } as const;
    expect(() => create(document)).toThrow(/\/s\/none is empty/);
    expect(() => create(document)).toThrow(ConfigError);
  });
});
