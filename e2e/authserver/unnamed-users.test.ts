import { afterEach, describe, expect, it } from '@jest/globals';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { Robot } from '../robot/robot.ts';
import { arrange } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { claimsOf, tokensOf } from './oauth-client.ts';
import { accountAt, type ProviderSpec } from './providers.ts';

/** The primary provider does not identify the user; the second provider names an account. */
const UNNAMED: ProviderSpec = { name: 'tokens', kind: 'odd', isUnnamed: true, options: { refresh: 'rotates' } };
const GITHUB: ProviderSpec = { name: 'github', kind: 'odd', options: { refresh: 'none' } };

afterEach(closeAll);

const start = async (...args: Parameters<typeof arrange>) => closing(await arrange(...args));
const subOf = ({ access_token: token }: { access_token: string }) => claimsOf(token).sub;

describe.each(['memory', 'sqlite'] as const)('a primary provider that does not identify users, with %s', (kind) => {
  const storage = kind === 'memory' ? {} : { storage: kind };

  it('makes a new user with each login, who gets only the tokens of that login', async () => {
    const setup = await start({ providers: [UNNAMED, GITHUB], ...storage });
    const client = await setup.client();
    const [alice, bob] = [await client.login({ user: 'alice' }), await client.login({ user: 'bob' })];
    const again = await client.login({ user: 'alice' });
    expect(new Set([alice, bob, again].map(subOf)).size).toBe(3);
    expect(claimsOf(alice.access_token)).not.toHaveProperty('name');
    expect(claimsOf(alice.access_token)).not.toHaveProperty('email');
    for (const [name, { access_token: token }] of Object.entries({ alice, bob })) {
      for (const provider of Object.values(setup.providers)) {
        expect(accountAt(provider, await whoIs(setup.resource, token, provider.name))).toBe(name);
      }
    }
  });

  it('keeps the user through refreshes, and for further logins in the same browser', async () => {
    const setup = await start({ providers: [UNNAMED], ...storage });
    const [client, robot] = [await setup.client(), new Robot()];
    const first = await client.login({ user: 'alice' }, { robot });
    const second = await client.login({ user: 'alice' }, { robot });
    const renewed = tokensOf(await client.refresh(first.refresh_token));
    expect([subOf(second), subOf(renewed)]).toEqual([subOf(first), subOf(first)]);
    expect(setup.providers.tokens?.odd?.of('/authorize').filter(({ method }) => method === 'GET')).toHaveLength(1);
  });

  it('removes the tokens of a user with the last session, and keeps those of other logins', async () => {
    const setup = await start({ providers: [UNNAMED], ...storage });
    const client = await setup.client();
    const [ended, other] = [await client.login({ user: 'alice' }), await client.login({ user: 'alice' })];
    expect((await client.revoke(ended.refresh_token)).status).toBe(200);
    expect((await callWhoami(setup.resource, ended.access_token, 'tokens')).status).toBe(401);
    expect((await client.refresh(ended.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
    expect(await whoIs(setup.resource, other.access_token, 'tokens')).toBeDefined();
  });
});

describe('a gateway whose primary provider does not identify users', () => {
  const authz = (policy: string) => ({ config: { authz: { policies: [policy] } } });

  it.each([
    'permit(principal == Client::"alice", action, resource);',
    'permit(principal, action, resource) when { context.claim_email == "a" };',
  ])('does not start with a policy that reads the caller: %s', async (policy) => {
    await expect(start({ providers: [UNNAMED], ...authz(policy) })).rejects.toThrow(
      'policies read the principal or claims, but the primary provider does not say who a user is; give it userinfo or identity_from_token',
    );
  });

  it('decides by policies that read only tools', async () => {
    const setup = await start({ providers: [UNNAMED], ...authz('permit(principal, action, resource);') });
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    expect(await whoIs(setup.resource, token, 'tokens')).toBeDefined();
  });

  it('takes a backend out of service if its own policies read the caller', async () => {
    const setup = await start({ providers: [UNNAMED] });
    const policies = [
      'forbid(principal == Client::"mallory", action, resource);',
      'permit(principal, action, resource);',
    ];
    const backends = setup
      .configOf()
      .backends.map((one) => (one.name === 'tokens' ? { ...one, authz: { policies } } : one));
    await setup.restart({ backends });
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    expect((await callWhoami(setup.resource, token, 'tokens')).answer).toHaveProperty('error');
  });
});
