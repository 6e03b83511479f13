import { afterEach, expect, it, jest } from '@jest/globals';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { Robot } from '../robot/robot.ts';
import { arrange, keyFile, secretFile, writeKeys, type ArrangementOptions } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { tokensOf, type Came } from './oauth-client.ts';
import { accountAt, type ProviderSpec } from './providers.ts';
import { describeOnEachStorage } from './storages.ts';
import { signOutEverywhere } from './sign-out-everywhere.ts';
import { setWallClock } from './wall-clock.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
const SHORT: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 2 } };

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

const errorOf = ({ status, body }: Came) => ({ status, error: body.error });

/** Starts two replicas of one server. */
async function two(options: ArrangementOptions) {
  const setup = closing(await arrange({ providers: [OKTA], replicas: 2, ...options }));
  const other = await setup.replica();
  const client = await setup.client();
  return { setup, other, client, there: client.at(other.origin) };
}

describeOnEachStorage(
  'two replicas',
  (fixture) => {
    it('let a login begin at one and continue at the other, and accept each other’s tokens', async () => {
      const { setup, other, client, there } = await two({ storage: fixture().fresh() });
      const done = await client.code({ user: 'alice' });
      const tokens = tokensOf(await there.redeem(done));
      expect(accountAt(setup.providers.okta!, await whoIs(other.url, tokens.access_token, 'okta'))).toBe('alice');
      expect(accountAt(setup.providers.okta!, await whoIs(setup.resource, tokens.access_token, 'okta'))).toBe('alice');
      expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
    });

    it('have at most one winner of ten parallel redemptions of a code', async () => {
      const { client, there } = await two({ storage: fixture().fresh() });
      const done = await client.code({ user: 'alice' });
      const answers = await Promise.all(Array.from({ length: 10 }, (_, nr) => [client, there][nr % 2]!.redeem(done)));
      expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
      for (const answer of answers) {
        if (answer.status !== 200) expect(errorOf(answer)).toEqual({ status: 400, error: 'invalid_grant' });
      }
    });

    it('give ten copies of a consent form and a callback one answer, and store no readable code', async () => {
      const { setup, other, client } = await two({ storage: fixture().fresh() });
      const robot = new Robot();
      const at = (url: URL, nr: number) => new URL(url.pathname + url.search, [setup.origin, other.origin][nr % 2]);
      const ten = <T>(send: (nr: number) => Promise<T>) => Promise.all(Array.from({ length: 10 }, (_, nr) => send(nr)));
      const consent = await robot.open(client.begin().url);
      const form = consent.forms[0]!;
      const leaves = { before: (url: URL) => url.host === setup.providers.okta?.host };
      const pages = await ten((nr) =>
        robot.submit(consent, { form: { ...form, action: at(form.action, nr) } }, leaves),
      );
      expect(new Set(pages.map(({ next }) => next?.href))).toEqual(new Set([expect.any(String)]));
      const isCallback = (url: URL) => url.pathname === '/oauth/callback/okta';
      const { next } = await robot.walk(pages[0]!.next!, { user: 'alice' }, { before: isCallback });
      const backs = await ten((nr) => robot.open(at(next!, nr), { before: () => true }));
      const codes = new Set(backs.map((back) => back.next?.searchParams.get('code')));
      expect(codes).toEqual(new Set([expect.any(String)]));
      expect(setup.providers.okta?.odd?.of('/token')).toHaveLength(1);
      const dump = (await fixture().dump()) ?? '';
      for (const code of codes) expect(dump).not.toContain(code?.split('.')[1] ?? '.');
      const stolen = await new Robot().open(at(next!, 1));
      expect([stolen.status, stolen.next]).toEqual([400, undefined]);
    });

    it('give twenty parallel refreshes one successor', async () => {
      const { client, there } = await two({ storage: fixture().fresh() });
      const { refresh_token: token } = await client.login({ user: 'alice' });
      const answers = await Promise.all(Array.from({ length: 20 }, (_, nr) => [client, there][nr % 2]!.refresh(token)));
      expect(new Set(answers.map((came) => tokensOf(came).refresh_token)).size).toBe(1);
    });

    it('renew an upstream token once for sixty parallel calls at its end', async () => {
      const clock = setWallClock();
      const { setup, other, client } = await two({ storage: fixture().fresh(), providers: [SHORT] });
      const { access_token: token } = await client.login({ user: 'alice' });
      const refreshes = () =>
        setup.providers.okta!.odd!.of('/token').filter(({ form }) => form.get('grant_type') === 'refresh_token');
      await whoIs(setup.resource, token, 'okta');
      clock.forward(2_000);
      const before = refreshes().length;
      const callers = await Promise.all(
        Array.from({ length: 60 }, (_, nr) => whoIs([setup.resource, other.url][nr % 2]!, token, 'okta')),
      );
      expect(refreshes().length - before).toBe(1);
      for (const caller of callers) expect(accountAt(setup.providers.okta!, caller)).toBe('alice');
    });

    it('refuse tokens within 5 seconds after a revocation or a sign-out everywhere at the other', async () => {
      const clock = setWallClock();
      const { setup, other, client } = await two({ storage: fixture().fresh() });
      const robot = new Robot();
      const [one, everywhere] = [await client.login({ user: 'alice' }), await client.login({ user: 'bob' }, { robot })];
      const all = [one.access_token, everywhere.access_token];
      for (const token of all) expect((await callWhoami(other.url, token, 'okta')).status).toBe(200);
      await client.revoke(one.refresh_token);
      await signOutEverywhere(setup.origin, {}, robot);
      for (const token of all) expect((await callWhoami(setup.resource, token, 'okta')).status).toBe(401);
      clock.forward(5_000);
      for (const token of all) expect((await callWhoami(other.url, token, 'okta')).status).toBe(401);
    });

    it('apply a new key and secret in turn, within 120 seconds, without refusing a token', async () => {
      const clock = setWallClock();
      const { setup, other, client, there } = await two({ storage: fixture().fresh() });
      await writeKeys(setup.folder, 2);
      const reconfigure = (gateway: typeof other, serials: readonly number[]) =>
        gateway.reconfigure({
          ...setup.configOf({
            embedded_auth_server_config: {
              ...setup.configOf().embedded_auth_server_config!,
              signing_key_config: {
                signing_key_file: keyFile(setup.folder, serials[0]!),
                fallback_key_files: serials.slice(1).map((serial) => keyFile(setup.folder, serial)),
              },
              hmac_secret_files: serials.map((serial) => secretFile(setup.folder, serial)),
            },
          }),
          listen: { port: gateway.runtime.address.port, private_port: 0 },
        });
      let tokens = await client.login({ user: 'alice' });
      await reconfigure(setup.gateway, [2, 1]);
      clock.forward(119_000);
      // The first replica still uses the former key, which the other one knows.
      tokens = tokensOf(await client.refresh(tokens.refresh_token));
      expect((await callWhoami(other.url, tokens.access_token, 'okta')).status).toBe(200);
      tokens = tokensOf(await there.refresh(tokens.refresh_token));
      await reconfigure(other, [2, 1]);
      clock.forward(2_000);
      tokens = tokensOf(await client.refresh(tokens.refresh_token));
      expect((await callWhoami(other.url, tokens.access_token, 'okta')).status).toBe(200);
      expect((await there.refresh(tokens.refresh_token)).status).toBe(200);
    });
  },
  ['sqlite', 'redis'],
);
