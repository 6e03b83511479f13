import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Robot } from '../robot/robot.ts';
import { arrange, type Arrangement } from './arrangement.ts';
import type { OAuthClient } from './oauth-client.ts';
import type { ProviderSpec } from './providers.ts';

const CHAIN: readonly ProviderSpec[] = [
  { name: 'github', kind: 'odd', options: { refresh: 'none' } },
  { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates' } },
  { name: 'slack', kind: 'odd', options: { answers: 'nested', refresh: 'rotates' } },
];
const [GITHUB] = CHAIN;

let setup: Arrangement;
let client: OAuthClient;
beforeAll(async () => {
  setup = await arrange({ providers: CHAIN });
  client = await setup.client();
});
afterAll(() => setup.close());

const visits = (name: string) =>
  setup.providers[name]!.odd!.of('/authorize').filter(({ method }) => method === 'GET').length;
let people = 0;
const someone = () => ({ user: `person-${++people}` });

describe('an ID token of the second provider of three', () => {
  it.each([
    'missing',
    'nonce',
    'issuer',
    'audience',
    'signature',
    'expired',
    'alg-none',
    'shared-secret',
    'foreign-key',
  ] as const)('ends the login if it is invalid (%s), and stores nothing', async (fault) => {
    const okta = setup.providers.okta!.odd!;
    const person = someone();
    okta.setIdTokenFault(fault);
    const { back, state } = await client.authorize(person);
    okta.setIdTokenFault(undefined);
    expect(Object.fromEntries(back.searchParams)).toEqual({
      error: 'server_error',
      error_description: expect.any(String),
      state,
      iss: setup.origin,
    });
    expect(visits('slack')).toBe(people - 1);
    const before = ['github', 'okta', 'slack'].map(visits);
    await client.login(person);
    expect(['github', 'okta', 'slack'].map(visits)).toEqual(before.map((count) => count + 1));
  });
});

describe('the token endpoint of the second provider of three', () => {
  it.each(['fail', 'html', 'huge', 'redirect', 'unknown-client'] as const)(
    "ends the login with the server's own error, without content of its odd answer (%s)",
    async (fault) => {
      const okta = setup.providers.okta!.odd!;
      okta.setFault('token', fault);
      const { back } = await client.authorize(someone());
      okta.setFault('token', undefined);
      expect(back.searchParams.get('error')).toMatch(/^(server_error|temporarily_unavailable)$/);
      expect(back.href).not.toContain('secret-detail');
      expect(setup.gateway.log()).not.toContain('secret-detail');
    },
  );
});

describe('a provider', () => {
  it('passes only with the right iss if it sends iss in its answers', async () => {
    for (const [iss, error] of [
      ['sent', null],
      ['wrong', 'server_error'],
      ['missing', 'server_error'],
    ] as const) {
      const own = await arrange({ providers: [{ name: 'okta', kind: 'odd', options: { oidc: true, iss } }] });
      const { back } = await (await own.client()).authorize({ user: 'alice' });
      expect(back.searchParams.get('error')).toBe(error);
      await own.close();
    }
  });

  it('ends the login by a callback without a code, or with two', async () => {
    for (const change of [
      (url: URL) => url.searchParams.delete('code'),
      (url: URL) => url.searchParams.append('code', 'x'),
    ]) {
      const robot = new Robot();
      const begun = client.begin();
      const before = (url: URL) =>
        url.pathname.startsWith('/oauth/callback/') || url.host === new URL(client.redirectUri).host;
      const { next } = await robot.walk(begun.url, someone(), { before });
      change(next!);
      const page = await robot.open(next!, { before });
      expect(page.next?.searchParams.get('error')).toBe('server_error');
    }
  });

  it("gets nothing by a callback for another provider's login", async () => {
    const robot = new Robot();
    const before = (url: URL) => url.pathname.startsWith('/oauth/callback/');
    const { next } = await robot.walk(client.begin().url, someone(), { before });
    const swapped = new URL(next!.href.replace(`/callback/${GITHUB!.name}`, '/callback/okta'));
    const tokenRequests = setup.providers.okta!.odd!.of('/token').length;
    const page = await robot.open(swapped);
    expect(page.status).toBe(400);
    expect(setup.providers.okta!.odd!.of('/token')).toHaveLength(tokenRequests);
    // The wrong callback did not consume the login.
    expect((await robot.open(next!, { before: () => true })).next?.host).toBe(setup.providers.okta!.host);
  });
});
