import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import { CLIENT_ID, CLIENT_SECRET, type Fault, type IdTokenFault } from '../../../e2e/fakes/oauth-provider/options.ts';
import type { UpstreamTokens } from './provider.ts';
import { closeSides, failureAtTokens, failureOf, REDIRECT, startOidc, TOKEN_FAULTS } from './testdata/login-step.ts';

afterEach(closeSides);

describe('login at an OpenID provider', () => {
  it('returns the tokens and the account of a verified ID token without further requests', async () => {
    const { fake, login, clock } = await startOidc({
      fake: { expiresIn: 600, claims: { groups: ['a', 'b'], tier: 3 } },
    });
    const { tokens, identity } = await login();
    expect(tokens).toMatchObject({ access_token: expect.stringMatching(/^at-/), expires_at: clock.time + 600_000 });
    expect(tokens.refresh_token).toMatch(/^rt-/);
    expect(identity).toEqual({
      issuer: fake.issuer,
      subject: 'alice',
      name: 'alice N.',
      email: 'alice@fake.test',
      email_verified: true,
      claims: { groups: ['a', 'b'], tier: 3, email_verified: true },
    });
    expect(fake.of('/userinfo')).toHaveLength(0);
  });

  it('sends PKCE, state, nonce, scopes, and configured parameters that are not part of the protocol', async () => {
    const additional = {
      access_type: 'offline',
      prompt: 'consent',
      client_id: 'x',
      state: 'x',
      nonce: 'x',
      scope: 'x',
    };
    const { parameters } = await startOidc({
      config: { scopes: ['email', 'openid', 'mail.read'] },
      upstream: { additional_authorization_params: additional },
    });
    const sent = await parameters();
    expect(Object.fromEntries(sent)).toMatchObject({
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: REDIRECT,
      scope: 'openid email mail.read',
      code_challenge_method: 'S256',
      access_type: 'offline',
      prompt: 'consent',
    });
    for (const name of ['state', 'nonce', 'code_challenge']) expect(sent.get(name)).toMatch(/^[\w-]{43}$/);
    expect((await parameters(true)).get('prompt')).toBe('login consent');
  });

  it('requests the profile by default', async () => {
    const { parameters } = await startOidc();
    expect((await parameters()).get('scope')).toBe('openid profile email');
  });

  it('redeems the code with its verifier, and sends the secret as the provider expects it', async () => {
    for (const clientAuth of ['body', 'header', 'public'] as const) {
      const { fake, login } = await startOidc({ fake: { clientAuth } });
      await expect(login()).resolves.toBeDefined();
      const [asked] = fake.of('/token');
      const hashed = createHash('sha256').update(asked?.form.get('code_verifier') ?? '');
      expect(hashed.digest('base64url')).toBe(fake.of('/authorize')[0]?.query.get('code_challenge'));
      expect(asked?.form.get('redirect_uri')).toBe(REDIRECT);
    }
  });

  it('requests user-info when the ID token lacks name and email', async () => {
    const { fake, login } = await startOidc({ fake: { slimIdToken: true } });
    expect((await login()).identity).toMatchObject({ subject: 'alice', name: 'alice N.', email: 'alice@fake.test' });
    expect(fake.of('/userinfo')).toHaveLength(1);
  });

  it('ignores user-info that the access token does not open, and fails when it is down', async () => {
    const { login } = await startOidc({ fake: { slimIdToken: true, userInfo: { method: 'POST' } } });
    expect(await failureOf(login())).toMatchObject({ name: 'UpstreamUnavailable', answered: true });
    const other = await startOidc({ fake: { slimIdToken: true } });
    other.fake.revoke('alice');
    expect((await other.login()).identity).toMatchObject({ subject: 'alice', name: undefined, email: undefined });
    other.fake.setFault('userinfo', 'fail');
    expect(await failureOf(other.login())).toMatchObject({ name: 'UpstreamUnavailable', answered: false });
    const closed = await startOidc({ fake: { slimIdToken: true, userInfo: { closed: true } } });
    expect((await closed.login()).identity).toMatchObject({ subject: 'alice', name: undefined });
  });

  it('does not apply email_verified of the ID token to an address of user-info', async () => {
    const claims = { email: 'boss@corp.example', email_verified: undefined };
    const { login } = await startOidc({ fake: { slimIdToken: true, userInfo: { claims } } });
    const { identity } = await login();
    expect(identity).toMatchObject({ email: 'boss@corp.example', email_verified: undefined });
    expect(identity?.claims).not.toHaveProperty('email_verified');
  });

  it('takes the subject from another claim', async () => {
    const { login } = await startOidc({ config: { subject_claim: 'oid' }, fake: { claims: { oid: 'f00-1' } } });
    expect((await login()).identity).toMatchObject({ subject: 'f00-1', claims: { oid: 'f00-1' } });
    const userInfo = { claims: { oid: 'another' } };
    const told = await startOidc({
      config: { subject_claim: 'oid' },
      fake: { claims: { oid: 'f00-1' }, slimIdToken: true, userInfo },
    });
    expect((await told.login()).identity).toMatchObject({ subject: 'f00-1', name: 'alice N.' });
    const missing = await startOidc({ config: { subject_claim: 'oid' } });
    expect((await failureOf(missing.login())).message).toBe('fake: it tells no oid');
  });

  it('requests the configured user-info endpoint instead of the discovered one', async () => {
    const override = (endpoint_url: string, subject_fields?: string[]) => ({
      userinfo_override: {
        endpoint_url,
        http_method: 'POST',
        additional_headers: { 'X-Version': '7' },
        field_mapping: { email_fields: ['nothing', 'mail'], ...(subject_fields && { subject_fields }) },
      },
    });
    const fake = {
      userInfo: { method: 'POST', header: ['x-version', '7'] },
      claims: { mail: 'a@override.test', mobile: null, number: 17 },
    } as const;
    const { login } = await startOidc({ fake, config: (issuer) => override(`${issuer}/userinfo`) });
    expect((await login()).identity).toMatchObject({ subject: 'alice', name: 'alice N.', email: 'a@override.test' });
    const mapped = await startOidc({ fake, config: (issuer) => override(`${issuer}/userinfo`, ['nothing', 'number']) });
    expect((await mapped.login()).identity).toMatchObject({ subject: '17' });
    const down = await startOidc({ fake, config: () => override('http://127.0.0.1:1/userinfo') });
    expect(await failureOf(down.login())).toMatchObject({ answered: false });
  });

  it('keeps claims of the primary provider only, and rejects more than 8 KiB of them', async () => {
    const claims = { groups: Array.from({ length: 900 }, (_, index) => `group-${index}`) };
    const { login } = await startOidc({ fake: { claims } });
    expect(await failureOf(login())).toMatchObject({ answered: true, message: expect.stringContaining('8192 bytes') });
    const other = await startOidc({ fake: { claims }, deps: { isPrimary: false } });
    expect((await other.login()).identity?.claims).toEqual({});
  });

  it('drops an address that the provider calls unverified', async () => {
    const { login } = await startOidc({ fake: { claims: { email_verified: 'false' } } });
    expect((await login()).identity).toMatchObject({ email: undefined, email_verified: false });
  });
});

describe('ID token', () => {
  const faults: IdTokenFault[] = [
    'signature',
    'nonce',
    'issuer',
    'audience',
    'missing',
    'expired',
    'alg-none',
    'shared-secret',
    'foreign-key',
  ];
  it.each(faults)('fails the login: %s', async (fault) => {
    const { fake, login } = await startOidc();
    fake.setIdTokenFault(fault);
    const error = await failureOf(login());
    expect(error).toMatchObject({ name: 'UpstreamUnavailable', answered: true });
    expect(error.cause).toBeUndefined();
    expect(error.message).not.toMatch(/at-|rt-|eyJ|alice/);
    fake.setIdTokenFault(undefined);
    await expect(login()).resolves.toBeDefined();
  });

  it('verifies under a new key, with one fetch per new key', async () => {
    const { fake, login, clock } = await startOidc();
    await login();
    await login();
    expect(fake.of('/jwks')).toHaveLength(1);
    await fake.rotateKeys();
    await expect(login()).resolves.toBeDefined();
    expect(fake.of('/jwks')).toHaveLength(2);
    clock.time += 300_000;
    await login();
    expect(fake.of('/jwks')).toHaveLength(3);
  });

  it('fails the login while the keys are unavailable', async () => {
    const { fake, login } = await startOidc();
    fake.setFault('jwks', 'fail');
    expect(await failureOf(login())).toMatchObject({ name: 'UpstreamUnavailable' });
    fake.setFault('jwks', 'hang');
    expect(await failureOf(login())).toMatchObject({ name: 'UpstreamUnavailable', answered: false });
    fake.setFault('jwks', undefined);
    await expect(login()).resolves.toBeDefined();
  });
});

describe('callback of an OpenID provider', () => {
  it('reports a denial of the user', async () => {
    const { login } = await startOidc();
    const error = await failureOf(login({ user: 'alice', denies: () => true }));
    expect(error).toMatchObject({ name: 'UpstreamRefused', denied: true });
    expect(error.message).not.toContain('secret-detail');
  });

  it('rejects another state, a missing or forged code, and a repeated parameter', async () => {
    const { login, provider } = await startOidc();
    const changes: ((url: URL) => void)[] = [
      (url) => url.searchParams.set('state', 'another'),
      (url) => url.searchParams.append('state', 'another'),
      (url) => url.searchParams.delete('code'),
      (url) => url.searchParams.append('code', 'another'),
    ];
    for (const change of changes) expect(await failureOf(login(undefined, change))).toMatchObject({ answered: true });
    expect(await failureOf(login(undefined, (url) => url.searchParams.set('code', 'forged')))).toMatchObject({
      name: 'UpstreamRefused',
      denied: false,
    });
    expect(provider.name).toBe('fake');
  });

  it('rejects an ID token above the size limit', async () => {
    const fake = { claims: { padding: 'x'.repeat(32_768) } };
    const { login } = await startOidc({ fake, deps: { isPrimary: false } });
    expect(await failureOf(login())).toMatchObject({ answered: true, message: expect.stringContaining('32768') });
  });

  it('requires the issuer if the provider announces it (RFC 9207)', async () => {
    await expect((await startOidc({ fake: { iss: 'sent' } })).login()).resolves.toBeDefined();
    expect(await failureOf((await startOidc({ fake: { iss: 'wrong' } })).login())).toMatchObject({ answered: true });
    expect(await failureOf((await startOidc({ fake: { iss: 'missing' } })).login())).toMatchObject({ answered: true });
  });

  it.each(TOKEN_FAULTS)('reports an error without text of the provider: token endpoint %s', async (fault, answered) => {
    const failure = { name: 'UpstreamUnavailable', answered, tells: false };
    expect(await failureAtTokens(await startOidc(), fault)).toEqual(failure);
  });
});

describe('discovery', () => {
  it('runs on first use, once for concurrent callers, and again after an hour in the background', async () => {
    const { fake, parameters, clock } = await startOidc();
    const count = () => fake.of('/.well-known/openid-configuration').length;
    expect(count()).toBe(0);
    await Promise.all([parameters(), parameters(), parameters()]);
    await parameters();
    expect(count()).toBe(1);
    clock.time += 3_600_001;
    fake.setFault('discovery', 'hang');
    await parameters();
    await parameters();
    while (count() < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await parameters();
    expect(count()).toBe(2);
  });

  it('runs again a second after a failure', async () => {
    const { fake, login, parameters, clock } = await startOidc();
    fake.setFault('discovery', 'fail');
    expect(await failureOf(parameters())).toMatchObject({ name: 'UpstreamUnavailable', answered: false });
    expect(await failureOf(parameters())).toMatchObject({ answered: false });
    expect(fake.of('/.well-known/openid-configuration')).toHaveLength(1);
    fake.setFault('discovery', undefined);
    clock.time += 1_000;
    await expect(login()).resolves.toBeDefined();
  });

  it('stops at the deadline', async () => {
    const { fake, parameters } = await startOidc();
    fake.setFault('discovery', 'hang');
    expect((await failureOf(parameters())).message).toContain('no answer in time');
  });

  it('rejects a document of another issuer', async () => {
    const { fake, ...sides } = await startOidc({ config: { issuer_url: 'http://localhost:1' } });
    expect(await failureOf(sides.parameters())).toMatchObject({ answered: false });
    const other = await startOidc({ config: { issuer_url: `${fake.issuer}/tenant` } });
    expect(await failureOf(other.parameters())).toMatchObject({ answered: true });
  });
});

describe('configuration of an OpenID provider', () => {
  it('rejects an empty secret, and reads a changed one', async () => {
    const { files, login, fake } = await startOidc({ fake: { clientSecret: 'next' } });
    expect(await failureOf(login())).toMatchObject({ name: 'UpstreamUnavailable', answered: true });
    files.set('secret', 'next');
    await expect(login()).resolves.toBeDefined();
    expect(fake.of('/token').map(({ form }) => form.get('client_secret'))).toEqual([CLIENT_SECRET, 'next']);
    await expect(startOidc({ deps: { readSecret: () => '' } })).rejects.toThrow(/secret is empty/);
  });
});

describe('refresh at an OpenID provider', () => {
  it('keeps a refresh token that is not replaced', async () => {
    for (const refresh of ['keeps', 'rotates'] as const) {
      const { login, provider } = await startOidc({ fake: { refresh, expiresIn: 60 } });
      const { tokens } = await login();
      const renewed = await provider.refresh(tokens);
      expect(renewed.access_token).not.toBe(tokens.access_token);
      expect(renewed.refresh_token === tokens.refresh_token).toBe(refresh === 'keeps');
      expect(renewed.id_token).toBeDefined();
    }
  });

  it('fails for good when the provider rejects the token, or without a token', async () => {
    const { login, provider, fake } = await startOidc();
    const { tokens } = await login();
    fake.revoke('alice');
    expect(await failureOf(provider.refresh(tokens))).toMatchObject({ name: 'UpstreamRefused', denied: false });
    const without: UpstreamTokens = { ...tokens, refresh_token: undefined };
    expect(await failureOf(provider.refresh(without))).toMatchObject({ name: 'UpstreamRefused' });
  });

  it.each<Fault>(['fail', 'hang', 'html', 'redirect', 'unknown-client'])('fails temporarily: %s', async (fault) => {
    const { login, provider, fake } = await startOidc();
    const { tokens } = await login();
    fake.setFault('token', fault);
    expect(await failureOf(provider.refresh(tokens))).toMatchObject({ name: 'UpstreamUnavailable' });
  });

  it('rejects an answer about another user', async () => {
    const { login, provider, fake } = await startOidc();
    const { tokens } = await login();
    fake.setIdTokenFault('other-user');
    expect((await failureOf(provider.refresh(tokens))).message).toBe('fake: it answered about another user');
  });
});

describe('identification by an OpenID provider', () => {
  it('returns the current claims', async () => {
    const claims: Record<string, unknown> = { groups: ['a'] };
    const { login, provider } = await startOidc({ fake: { claims } });
    const { tokens, identity } = await login();
    expect(identity?.claims.groups).toEqual(['a']);
    claims.groups = ['b'];
    expect(await provider.identify(tokens)).toMatchObject({ subject: 'alice', claims: { groups: ['b'] } });
  });

  it('fails for good for an invalid token, and temporarily without an answer', async () => {
    const { login, provider, fake, clock } = await startOidc();
    const { tokens } = await login();
    clock.time += 3_600_000;
    fake.revoke('alice');
    expect(await failureOf(provider.identify(tokens))).toMatchObject({ name: 'UpstreamRefused' });
    fake.setFault('userinfo', 'fail');
    expect(await failureOf(provider.identify(tokens))).toMatchObject({ name: 'UpstreamUnavailable' });
  });

  it('uses a new ID token when the access token does not open user-info', async () => {
    const claims: Record<string, unknown> = { groups: ['a'] };
    const { login, provider } = await startOidc({ fake: { claims, userInfo: { closed: true } } });
    const { tokens } = await login();
    claims.groups = ['b'];
    const renewed = await provider.refresh(tokens);
    expect(await provider.identify(renewed)).toMatchObject({ subject: 'alice', claims: { groups: ['b'] } });
  });
});
