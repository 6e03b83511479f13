import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { arrange, type Arrangement } from './arrangement.ts';
import { toolNames } from './call-tool.ts';
import { claimsOf } from './oauth-client.ts';
import { describeOnEachStorage } from './storages.ts';

describeOnEachStorage('a user whose name contains half a character', (fixture) => {
  let setup: Arrangement;
  beforeAll(async () => {
    const claims = { name: 'A\ud800', email: 'a\udfff@example.com', nick: 'x\ud800' };
    const options = { oidc: true, refresh: 'rotates', claims, slimIdToken: true } as const;
    setup = await arrange({ providers: [{ name: 'okta', kind: 'odd', options }], storage: fixture().fresh() });
  });
  afterAll(() => setup.close());

  it('logs in repeatedly, and disturbs no other user', async () => {
    const client = await setup.client();
    for (let times = 0; times < 2; times += 1) {
      const tokens = await client.login({ user: 'alice' });
      expect(claimsOf(tokens.access_token)).toMatchObject({ name: 'A\ufffd', email: 'a\ufffd@example.com' });
      expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
    }
    const status = await setup.gateway.runtime.gateway.services.authServer?.status();
    expect(Object.values(status?.secretsInUse ?? {})).toEqual([3]);
  });
});

describe('groups of a provider under another claim', () => {
  it('bind users of the embedded server like users of other issuers', async () => {
    const policies = [
      'permit(principal, action, resource);',
      'forbid(principal in Group::"contractors", action, resource);',
    ];
    const claims: Record<string, unknown> = {};
    const setup = await arrange({
      providers: [{ name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', claims } }],
      config: { authz: { policies, groups_claim: 'realm_access.roles' } },
    });
    try {
      const client = await setup.client();
      for (const [roles, tools] of [
        [['staff'], ['okta_whoami']],
        [['staff', 'contractors'], []],
      ] as const) {
        claims.realm_access = { roles };
        const { access_token: token } = await client.login({ user: roles.join('-') });
        expect(await toolNames(setup.resource, token)).toEqual(tools);
      }
    } finally {
      await setup.close();
    }
  });
});
