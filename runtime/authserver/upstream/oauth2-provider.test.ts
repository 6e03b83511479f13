import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import { NESTED } from '../../../e2e/fakes/oauth-provider/nested-answers.ts';
import { CLIENT_ID, CLIENT_SECRET } from '../../../e2e/fakes/oauth-provider/options.ts';
import { numberOf } from '../../../e2e/fakes/oauth-provider/serve.ts';
import { closeSides, failureAtTokens, failureOf, REDIRECT, startOAuth2, TOKEN_FAULTS } from './testdata/login-step.ts';

afterEach(closeSides);

const userInfo = (issuer: string, more: Readonly<Record<string, unknown>> = {}) => ({
  userinfo: {
    endpoint_url: `${issuer}/userinfo`,
    field_mapping: {
      subject_fields: ['id', 'account.number'],
      name_fields: ['nickname', 'account.label'],
      email_fields: ['mail'],
    },
    ...more,
  },
});

describe('login at an OAuth 2.0 provider', () => {
  it('redeems the code with PKCE, and accepts tokens without expiry and refresh token', async () => {
    const { fake, login, parameters } = await startOAuth2({
      fake: { refresh: 'none' },
      config: { scopes: ['repo', 'read:user'] },
      upstream: { additional_authorization_params: { allow_signup: 'false', redirect_uri: 'https://x.example' } },
    });
    const { tokens, identity } = await login();
    expect(tokens).toEqual({
      access_token: expect.stringMatching(/^at-/),
      refresh_token: undefined,
      expires_at: undefined,
      scope: 'repo read:user',
      id_token: undefined,
    });
    expect(identity).toBeUndefined();
    const [asked] = fake.of('/token');
    const hashed = createHash('sha256').update(asked?.form.get('code_verifier') ?? '');
    expect(hashed.digest('base64url')).toBe(fake.of('/authorize')[0]?.query.get('code_challenge'));
    expect(Object.fromEntries(await parameters())).toMatchObject({ allow_signup: 'false', redirect_uri: REDIRECT });
    expect((await parameters()).has('nonce')).toBe(false);
  });

  it('requests user-info with the configured method, headers and fields, and converts numbers to strings', async () => {
    const { fake, login } = await startOAuth2({
      fake: { userInfo: { method: 'POST', header: ['x-api-version', '3'] } },
      config: (issuer) => userInfo(issuer, { http_method: 'POST', additional_headers: { 'X-Api-Version': '3' } }),
    });
    expect((await login()).identity).toEqual({
      issuer: `${fake.issuer}/token`,
      subject: String(numberOf('alice')),
      name: 'alice N.',
      email: 'alice@fake.test',
      email_verified: undefined,
      claims: { mail: 'alice@fake.test', plan: 'free', 'account.number': 307097, 'account.label': 'alice N.' },
    });
    expect(fake.of('/userinfo')[0]?.headers).toMatchObject({ 'user-agent': 'vmcp', accept: 'application/json' });
  });

  it.each(['refresh_token', 'id_token'])('rejects a %s above the size limit', async (member) => {
    const fits = await startOAuth2({ fake: { members: { [member]: 't'.repeat(32_768) } } });
    expect((await fits.login()).tokens).toMatchObject({ [member]: 't'.repeat(32_768) });
    const { login } = await startOAuth2({ fake: { members: { [member]: 't'.repeat(32_769) } } });
    expect(await failureOf(login())).toMatchObject({
      answered: true,
      message: 'fake: its answer holds a token of more than 32768 characters',
    });
  });

  it('drops a scope above the size limit', async () => {
    const { login } = await startOAuth2({ fake: { members: { scope: 's'.repeat(32_769) } } });
    expect((await login()).tokens.scope).toBeUndefined();
  });

  it('reads nested tokens, and the user from the token response, without further requests', async () => {
    const { fake, login, clock } = await startOAuth2({
      fake: { answers: 'nested', expiresIn: 120 },
      config: (issuer) => ({ ...userInfo(issuer), ...NESTED }),
    });
    const { tokens, identity } = await login();
    expect(tokens).toMatchObject({ access_token: expect.stringMatching(/^at-/), expires_at: clock.time + 120_000 });
    expect(identity).toMatchObject({ subject: 'alice', name: 'alice N.', email: undefined, claims: {} });
    expect(fake.of('/userinfo')).toHaveLength(0);
  });

  it('reads scope, refresh token and address from nested members', async () => {
    const { login } = await startOAuth2({
      fake: { answers: 'nested', refresh: 'keeps' },
      config: () => ({
        ...NESTED,
        scopes: ['search:read', 'chat:write'],
        identity_from_token: { ...NESTED.identity_from_token, email_path: 'authed_user.profile.mail' },
      }),
    });
    const { tokens, identity } = await login();
    expect(tokens).toMatchObject({ refresh_token: expect.any(String), scope: 'search:read chat:write' });
    expect(identity).toMatchObject({ subject: 'alice', email: 'alice@fake.test' });
  });

  it('reads a form as an answer', async () => {
    const { login, clock } = await startOAuth2({ fake: { answers: 'form', expiresIn: 60 } });
    expect((await login()).tokens).toMatchObject({ expires_at: clock.time + 60_000 });
  });

  it('sends the secret in the body, then in the header, and remembers the accepted way', async () => {
    const { fake, login } = await startOAuth2({ fake: { clientAuth: 'header' } });
    await login();
    await login();
    const sent = fake.of('/token').map(({ form, headers }) => [form.has('client_secret'), 'authorization' in headers]);
    expect(sent).toEqual([
      [true, false],
      [false, true],
      [false, true],
    ]);
    const open2 = await startOAuth2({ fake: { clientAuth: 'public' } });
    await open2.login();
    expect(open2.fake.of('/token')[0]?.form.get('client_id')).toBe(CLIENT_ID);
  });

  it('fails without a user id in the user-info', async () => {
    const { login } = await startOAuth2({ config: (issuer) => ({ userinfo: { endpoint_url: `${issuer}/userinfo` } }) });
    expect((await failureOf(login())).message).toBe('fake: it tells no sub or id');
  });
});

describe('callback of an OAuth 2.0 provider', () => {
  it('reports a denial, and rejects another state', async () => {
    const { login } = await startOAuth2();
    const denied = { user: 'alice', denies: () => true };
    expect(await failureOf(login(denied))).toMatchObject({ name: 'UpstreamRefused', denied: true });
    const change = (url: URL) => url.searchParams.set('state', 'another');
    expect(await failureOf(login(denied, change))).toMatchObject({ name: 'UpstreamUnavailable', answered: true });
  });

  it('rejects a repeated, missing or forged code', async () => {
    const { login } = await startOAuth2();
    const twice = (url: URL) => url.searchParams.append('code', 'another');
    expect(await failureOf(login(undefined, twice))).toMatchObject({ answered: true });
    const without = (url: URL) => url.searchParams.delete('code');
    expect(await failureOf(login(undefined, without))).toMatchObject({ answered: true });
    const forged = (url: URL) => url.searchParams.set('code', 'another');
    expect(await failureOf(login(undefined, forged))).toMatchObject({ name: 'UpstreamRefused', denied: false });
  });

  it('recognizes an error with HTTP 200', async () => {
    for (const answers of ['plain', 'form'] as const) {
      const { login } = await startOAuth2({ fake: { errorsAt200: true, answers } });
      const error = await failureOf(login(undefined, (url) => url.searchParams.set('code', 'another')));
      expect(error).toMatchObject({ name: 'UpstreamRefused' });
      expect(error.message).toBe('fake: its token endpoint answered 200 invalid_grant');
    }
  });

  it.each(TOKEN_FAULTS)('reports an error without text of the provider: token endpoint %s', async (fault, answered) => {
    const failure = { name: 'UpstreamUnavailable', answered, tells: false };
    expect(await failureAtTokens(await startOAuth2(), fault)).toEqual(failure);
  });
});

describe('refresh at an OAuth 2.0 provider', () => {
  it('keeps values that are not replaced', async () => {
    for (const refresh of ['keeps', 'rotates'] as const) {
      const { login, provider } = await startOAuth2({ fake: { refresh, expiresIn: 60 }, config: { scopes: ['a'] } });
      const { tokens } = await login();
      const renewed = await provider.refresh(tokens);
      expect(renewed).toMatchObject({ scope: 'a', access_token: expect.not.stringMatching(tokens.access_token) });
      expect(renewed.refresh_token === tokens.refresh_token).toBe(refresh === 'keeps');
    }
  });

  it('reads the tokens from their usual members when the configured ones are missing', async () => {
    const { login, provider, fake } = await startOAuth2({ fake: { answers: 'nested', expiresIn: 60 }, config: NESTED });
    const { tokens } = await login();
    fake.setAnswers('plain');
    expect((await provider.refresh(tokens)).access_token).toMatch(/^at-/);
  });

  it('fails for good when the provider rejects the token, or without a token', async () => {
    for (const errorsAt200 of [true, false]) {
      const { login, provider, fake } = await startOAuth2({ fake: { errorsAt200 } });
      const { tokens } = await login();
      fake.revoke('alice');
      expect(await failureOf(provider.refresh(tokens))).toMatchObject({ name: 'UpstreamRefused', denied: false });
      const without = { ...tokens, refresh_token: undefined };
      expect(await failureOf(provider.refresh(without))).toMatchObject({ name: 'UpstreamRefused' });
    }
  });

  it('fails temporarily when the provider rejects the client, as the user cannot resolve it', async () => {
    const { login, provider, files } = await startOAuth2();
    const { tokens } = await login();
    files.set('secret', 'wrong');
    expect(await failureOf(provider.refresh(tokens))).toMatchObject({ name: 'UpstreamUnavailable', answered: true });
    files.set('secret', CLIENT_SECRET);
    await expect(provider.refresh(tokens)).resolves.toBeDefined();
  });

  it('keeps the former secret while the file is empty, and warns once', async () => {
    const { login, provider, files, warned } = await startOAuth2({ fake: { refresh: 'keeps' } });
    const { tokens } = await login();
    files.set('secret', '');
    await expect(provider.refresh(await provider.refresh(tokens))).resolves.toBeDefined();
    const fields = JSON.stringify({ provider: 'fake', reason: 'upstream fake: secret is empty' });
    expect(warned).toEqual([`changed secret of a provider cannot be used; the former stays ${fields}`]);
  });
});

describe('user-info of an OAuth 2.0 provider', () => {
  it('fails for good for an invalid token, and temporarily without an answer', async () => {
    const { login, provider, fake } = await startOAuth2({ config: userInfo });
    const { tokens, identity } = await login();
    expect(await provider.identify(tokens)).toEqual(identity);
    fake.revoke('alice');
    expect(await failureOf(provider.identify(tokens))).toMatchObject({ name: 'UpstreamRefused' });
    fake.setFault('userinfo', 'hang');
    expect(await failureOf(provider.identify(tokens))).toMatchObject({ name: 'UpstreamUnavailable', answered: false });
  });

  it('returns undefined without an endpoint', async () => {
    const { login, provider } = await startOAuth2();
    expect(await provider.identify((await login()).tokens)).toBeUndefined();
  });
});
