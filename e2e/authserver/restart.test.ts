import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { send } from '../gateway/session-client.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { isRedirectOf, Robot } from '../robot/robot.ts';
import { arrange, keyFile, secretFile, writeKeys, type Arrangement, type ArrangementOptions } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { OAuthClient, tokensOf, type Came } from './oauth-client.ts';
import { accountAt, type ProviderSpec } from './providers.ts';
import { describeOnEachStorage } from './storages.ts';
import { setWallClock } from './wall-clock.ts';

const CHAIN: readonly ProviderSpec[] = [
  { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } },
  { name: 'github', kind: 'odd', options: { refresh: 'none' } },
];

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

const start = async (options: ArrangementOptions) => closing(await arrange({ providers: CHAIN, ...options }));
const shortOf = ({ status, body }: Came) => ({ status, error: body.error });
const accountsOf = async ({ resource, providers }: Arrangement, token: string) =>
  Promise.all(
    Object.values(providers).map(async (provider) => accountAt(provider, await whoIs(resource, token, provider.name))),
  );

/** Returns the configuration of signing keys and secrets by their numbers, the active one first. */
function listed(setup: Arrangement, serials: readonly number[]) {
  const { folder } = setup;
  const config = setup.configOf();
  const [first = 1, ...others] = serials;
  return setup.configOf({
    embedded_auth_server_config: {
      ...config.embedded_auth_server_config!,
      signing_key_config: {
        signing_key_file: keyFile(folder, first),
        fallback_key_files: others.map((serial) => keyFile(folder, serial)),
      },
      hmac_secret_files: serials.map((serial) => secretFile(folder, serial)),
    },
  });
}

interface ServerStatus {
  readonly secrets_in_use: Readonly<Record<string, number>>;
  readonly secrets: { readonly kids: readonly string[]; readonly making: string };
  readonly signing_keys: { readonly kids: readonly string[]; readonly signing: string };
}

async function statusOf({ gateway }: Arrangement): Promise<ServerStatus> {
  const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
  return (JSON.parse(text) as { auth_server: ServerStatus }).auth_server;
}

describeOnEachStorage(
  'a restart with a storage',
  (fixture) => {
    it('logs no user out: access token, refresh, upstream tokens, browser login and consent stay valid', async () => {
      const setup = await start({ storage: fixture().fresh() });
      const [client, robot] = [await setup.client(), new Robot()];
      const tokens = await client.login({ user: 'alice' }, { robot });
      await setup.restart();
      expect(await accountsOf(setup, tokens.access_token)).toEqual(['alice', 'alice']);
      const next = tokensOf(await client.refresh(tokens.refresh_token));
      expect(await accountsOf(setup, next.access_token)).toEqual(['alice', 'alice']);
      const begun = client.begin();
      const page = await robot.open(begun.url, { before: isRedirectOf(begun.url) });
      expect(page.next?.searchParams.get('code')).toBeTruthy();
    });

    it('continues a login from its current step, and from its code', async () => {
      const setup = await start({ storage: fixture().fresh() });
      const [client, robot] = [await setup.client(), new Robot()];
      const begun = client.begin();
      const at = ({ url }: { url: URL }) => url.host === setup.providers.github?.host;
      const page = await robot.walk(begun.url, { user: 'alice' }, { at });
      await setup.restart();
      const end = await robot.walk(page, { user: 'alice' }, { before: isRedirectOf(begun.url) });
      await setup.restart();
      const code = end.next?.searchParams.get('code') ?? '';
      const tokens = tokensOf(await client.redeem({ ...begun, code }));
      expect(await accountsOf(setup, tokens.access_token)).toEqual(['alice', 'alice']);
    });

    it('loses no login to new keys and secrets, added at run time and then used alone', async () => {
      const clock = setWallClock();
      const setup = await start({ storage: fixture().fresh() });
      const client = await setup.client();
      const { refresh_token: first, access_token: token } = await client.login({ user: 'alice' });
      const before = await statusOf(setup);
      await writeKeys(setup.folder, 2);
      const withListen = { listen: { port: Number(new URL(setup.origin).port), private_port: 0 } };
      await setup.gateway.reconfigure({ ...listed(setup, [2, 1]), ...withListen });
      // The server publishes and accepts the new key at once. It signs with it when all replicas know it.
      expect((await statusOf(setup)).signing_keys).toMatchObject({ signing: before.signing_keys.signing });
      expect((await statusOf(setup)).secrets.making).toBe(before.secrets.making);
      clock.forward(121_000);
      const now = await statusOf(setup);
      expect(now.signing_keys.signing).not.toBe(before.signing_keys.signing);
      expect(now.secrets.making).not.toBe(before.secrets.making);
      expect((await callWhoami(setup.resource, token, 'okta')).status).toBe(200);
      const second = tokensOf(await client.refresh(first));
      expect(await accountsOf(setup, second.access_token)).toEqual(['alice', 'alice']);
      clock.forward(31_000);
      expect((await statusOf(setup)).secrets_in_use[before.secrets.making] ?? 0).toBe(0);
      await setup.gateway.reconfigure({ ...listed(setup, [2]), ...withListen });
      expect(await accountsOf(setup, second.access_token)).toEqual(['alice', 'alice']);
      expect((await client.refresh(second.refresh_token)).status).toBe(200);
    });

    it('becomes unnecessary after new content of the key files, which applies at run time', async () => {
      const setup = await start({ storage: fixture().fresh() });
      const before = await statusOf(setup);
      await writeKeys(setup.folder, 1);
      for (let tries = 0; tries < 100 && (await statusOf(setup)).secrets.making === before.secrets.making; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const after = await statusOf(setup);
      // No former key is left, so the new ones are active at once.
      expect(after.secrets.making).not.toBe(before.secrets.making);
      expect(after.signing_keys.signing).not.toBe(before.signing_keys.signing);
      expect((await (await setup.client()).login({ user: 'alice' })).access_token).toBeTruthy();
    });

    it('refuses all tokens without persistent keys, with errors after which clients log in again', async () => {
      const setup = await start({ storage: fixture().fresh(), keys: 'ephemeral' });
      const client = await setup.client();
      const tokens = await client.login({ user: 'alice' });
      await setup.restart();
      const call = await callWhoami(setup.resource, tokens.access_token, 'okta');
      expect(call.status).toBe(401);
      expect(call.headers['www-authenticate']).toContain('invalid_token');
      expect(shortOf(await client.refresh(tokens.refresh_token))).toEqual({ status: 400, error: 'invalid_grant' });
      const next = await client.login({ user: 'alice' });
      expect(await accountsOf(setup, next.access_token)).toEqual(['alice', 'alice']);
    });
  },
  ['sqlite', 'redis'],
);

describe('a restart without a storage', () => {
  it('removes clients, which get 401 invalid_client, register again, and log in', async () => {
    const setup = await start({});
    const client = await setup.client();
    const tokens = await client.login({ user: 'alice' });
    await setup.restart();
    const call = await callWhoami(setup.resource, tokens.access_token, 'okta');
    expect(call.status).toBe(401);
    expect(call.headers['www-authenticate']).toContain('resource_metadata=');
    expect(shortOf(await client.refresh(tokens.refresh_token))).toEqual({ status: 401, error: 'invalid_client' });
    const page = await new Robot().open(client.begin().url);
    expect(page.status).toBe(400);
    const again = await OAuthClient.register(setup.origin);
    const next = await again.login({ user: 'alice' });
    expect(await accountsOf(setup, next.access_token)).toEqual(['alice', 'alice']);
  });

  it('loses data that log and status announce if no keys are configured', async () => {
    const setup = await start({ keys: 'ephemeral' });
    expect(setup.gateway.log()).toMatch(/"level":"warn".*(restart|lost)/);
    const { text } = await send(`http://127.0.0.1:${setup.gateway.runtime.address.privatePort}/status`, 'GET', {});
    const { warnings } = JSON.parse(text) as { warnings: string[] };
    expect(warnings.filter((warning) => warning.includes('restart')).length).toBeGreaterThanOrEqual(1);
  });
});
