import { beforeEach, describe, expect, it } from '@jest/globals';
import { BackendAuth } from '#crds/run-config/outgoing';
import { ConfigError } from '#runtime/errors';
import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { fakeUserTokens, type FakeUserTokens } from '#runtime/authserver/upstream-tokens/testdata/fake-user-tokens';
import { caller } from '#runtime/authserver/upstream-tokens/testdata/setup';
import { createCredential } from './create-credential.ts';
import type { CredentialDeps } from './credential-deps.ts';
import { ExchangedTokens } from './exchanged-tokens.ts';

const alice = caller('alice');
let userTokens: FakeUserTokens;
beforeEach(() => {
  userTokens = fakeUserTokens();
  userTokens.link('alice', 'github', 'of-alice', { next: 'of-alice-2' });
});

function open(document: object = {}, deps: Partial<CredentialDeps> = {}) {
  const ignore = () => undefined;
  return createCredential(BackendAuth.parse({ type: 'upstream_inject', provider_name: 'github', ...document }), {
    backend: 'files',
    readSecret: () => '',
    exchanged: new ExchangedTokens({ now: Date.now }),
    now: Date.now,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    userTokens,
    ...deps,
  });
}

describe('upstreamInject', () => {
  it('sends the caller’s own stored token in Authorization, synchronously and as the same headers', () => {
    const credential = open();
    const headers = credential.headersFor(alice);
    expect(headers).toEqual(['authorization', 'Bearer of-alice']);
    expect(credential.headersFor(alice)).toBe(headers);
    expect(credential).toMatchObject({ authType: 'upstreamInject', perUser: true, login: { provider: 'github' } });
  });

  it('sends the token in another header if configured', () => {
    const credential = open({ header_strategy: 'custom', custom_header_name: 'X-GitHub-Token' });
    expect(credential.headersFor(alice)).toEqual(['x-github-token', 'Bearer of-alice']);
  });

  it('waits while the token is read', async () => {
    const credential = open();
    userTokens.forget();
    const headers = credential.headersFor(alice);
    expect(headers).toBeInstanceOf(Promise);
    expect(await headers).toEqual(['authorization', 'Bearer of-alice']);
  });

  it('never sends another user’s token, nor the caller’s own bearer', async () => {
    const credential = open();
    expect(() => credential.headersFor(caller('bob'))).toThrow(LoginNeeded);
    userTokens.link('bob', 'github', 'of-bob');
    expect(credential.headersFor(caller('bob'))).toEqual(['authorization', 'Bearer of-bob']);
    expect(credential.headersFor(alice)).toEqual(['authorization', 'Bearer of-alice']);
    expect(await credential.login!.isReady(caller('carol'))).toBe(false);
    expect(await credential.login!.isReady(alice)).toBe(true);
  });

  it('renews a refused token once, then requires a login at the provider', () => {
    const credential = open();
    const first = credential.headersFor(alice) as readonly string[];
    expect(credential.invalidate(alice, first)).toBe(true);
    const second = credential.headersFor(alice) as readonly string[];
    expect(second).toEqual(['authorization', 'Bearer of-alice-2']);
    expect(userTokens.renewals).toEqual(['of-alice']);
    expect(credential.login!.refused(alice, second)).toBeInstanceOf(LoginNeeded);
    expect(userTokens.bars).toEqual(['alice|github|of-alice-2']);
    expect(() => credential.headersFor(alice)).toThrow(LoginNeeded);
  });

  it('renews nothing for headers that it did not build', () => {
    expect(open().invalidate(alice, ['authorization', 'Bearer elsewhere'])).toBe(false);
    expect(userTokens.renewals).toEqual([]);
  });

  it('returns the URL at which this caller logs in', async () => {
    expect(await open().login!.linkUrl(alice)).toMatch(/ticket=github-alice-0$/);
  });

  it('refuses a token that no header can carry', () => {
    userTokens.link('alice', 'github', 'two\r\nlines');
    expect(() => open().headersFor(alice)).toThrow('The token that github gave cannot be sent');
  });

  it.each([
    ['no authorization server', {}, { userTokens: undefined }, /provider github, and there is no embedded/],
    ['a custom header without a name', { header_strategy: 'custom' }, {}, /custom_header_name/],
  ])('refuses %s', (_case, document, deps, message) => {
    expect(() => open(document, deps)).toThrow(message);
    expect(() => open(document, deps)).toThrow(ConfigError);
  });
});
