import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { claimsOf, OAuthClient, type Tokens, tokensOf } from '../authserver/oauth-client.ts';
import { GATEWAY_CLIENT } from '../fakes/identity-provider/users.ts';
import { shortHash } from '../fakes/whoami/describe-caller.ts';
import { callTool } from '../local/call-tool.ts';
import { movePorts } from '../local/example.ts';
import { eventually } from '../local/run-vmcp.ts';
import type { Program } from '../gateway/start-program.ts';
import { NO_CHROMIUM, openChromium } from '../pages/chromium.ts';
import { forwardPorts } from './forward-ports.ts';
import { startLoad, underLoad } from './load.ts';
import { startLogins } from './login-load.ts';
import { replacePods, untilSettled } from './replace-pods.ts';
import { backend, fake, group, secret, type Seen, server } from './stage.ts';
import { startIdentityProvider } from './start-identity-provider.ts';
import { startRemoteServer } from './start-remote-server.ts';
import { startRedisPod } from './start-redis-pod.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const SERVED = 4483;
const OWN = 9000;
/** Port of this machine; a pod serves at the same port. */
const SHARED = 4493;
const SCALED = 4503;
const REPLICAS = 2;
/** Lifetimes of the provider's tokens in seconds: with constant renewal, and without. */
const LIFETIME = { short: 10, long: 3600 };

type Port = typeof SERVED | typeof OWN | typeof SHARED | typeof SCALED;

const signingKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const hmacKey = (letter: string) => letter.repeat(32);
const refs = (kind: string, ...names: string[]) => names.map((name) => ({ name: 'keys', key: `${kind}-${name}` }));
const kidOf = (token: string) => {
  const [header = ''] = token.split('.');
  return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid;
};

/** Counters of a provider so far. */
interface Counted {
  counts: { all?: number };
  /** Number of times that a client sent each secret, by its short hash. */
  secrets: Record<string, number>;
}

/** Applies changes to a provider, if any, and returns its counters. */
async function control(provider: string, changes: readonly [name: string, value: string][] = []): Promise<Counted> {
  const query = new URLSearchParams([...changes]).toString();
  const method = changes.length === 0 ? 'GET' : 'POST';
  const answer = await fetch(`${provider}/control?${query}`, { method, signal: AbortSignal.timeout(10_000) });
  return (await answer.json()) as Counted;
}

/** Returns the requests at the pages of a provider so far; each login makes some. */
const loginsAt = async (provider: string) => (await control(provider)).counts.all ?? 0;

const inChromium = NO_CHROMIUM === undefined ? describe : describe.skip;

/** Fills in the pages of the providers' library: login and consent. */
async function signInAs(page: Page, user: string): Promise<void> {
  await page.locator('input[name=login]').fill(user);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

describeWithCluster('the embedded authorization server in pods', (cluster) => {
  const stage = useStage(cluster, 'logins');
  let ports: Record<Port, number>;
  let provider: string;
  let upstreams: { insecureAllowHTTP: boolean; upstreamProviders: object[] };
  const forwards: Program[] = [];
  const originOf = (port: Port) => `http://127.0.0.1:${ports[port]}`;
  const inline = (origin: string) => ({ type: 'inline', resourceUrl: `${origin}/mcp`, inline: { issuer: origin } });

  beforeAll(async () => {
    ports = await movePorts([SERVED, OWN, SHARED, SCALED]);
    const redirects = Object.values(ports).map((port) => `http://127.0.0.1:${port}/oauth/callback/company`);
    provider = await startIdentityProvider(stage, redirects);
    const oidcConfig = { issuerUrl: provider, clientId: GATEWAY_CLIENT.id };
    const clientSecretRef = { name: 'keys', key: 'client' };
    const company = { name: 'company', type: 'oidc', oidcConfig: { ...oidcConfig, clientSecretRef } };
    upstreams = { insecureAllowHTTP: true, upstreamProviders: [company] };
    await stage.apply(
      secret('keys', { client: GATEWAY_CLIENT.secret, 'signing-a': signingKey(), 'hmac-a': hmacKey('a') }),
      {
        ...group('company-token'),
        kind: 'MCPExternalAuthConfig',
        spec: { type: 'upstreamInject', upstreamInject: { providerName: 'company' } },
      },
    );
  }, 120_000);
  afterAll(async () => {
    for (const forward of forwards) await forward.stop();
  });

  async function forward(service: string, port: Port, served: number = port): Promise<Program> {
    const way = await forwardPorts(cluster, stage.namespace.name, `service/${service}`, { [ports[port]]: served });
    forwards.push(way);
    return way;
  }

  describe('of a VirtualMCPServer, while its keys and client secret rotate under load', () => {
    let client: OAuthClient;
    let tokens: Tokens;
    const pods = async () =>
      (await stage.list('Pod', 'app.kubernetes.io/instance=demo')).map(({ metadata }) => metadata.uid);
    const kids = async () => {
      const answer = await fetch(`${originOf(SERVED)}/.well-known/jwks.json`, { signal: AbortSignal.timeout(5000) });
      return ((await answer.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
    };
    /** Sets the keys by their names in the Secret; the first is the active one. */
    const useKeys = async (...names: string[]) => {
      const lists = { signingKeySecretRefs: refs('signing', ...names), hmacSecretRefs: refs('hmac', ...names) };
      await stage.patch('VirtualMCPServer', 'demo', { spec: { authServerConfig: lists } });
      await stage.ready('demo');
    };
    const refresh = async () => tokensOf(await client.refresh(tokens.refresh_token));

    beforeAll(async () => {
      const origin = originOf(SERVED);
      const keys = { signingKeySecretRefs: refs('signing', 'a'), hmacSecretRefs: refs('hmac', 'a') };
      await stage.apply(
        group('tools'),
        backend('whoami', fake('tools', 'whoami')),
        backend('company', { ...fake('tools', 'whoami'), externalAuthConfigRef: { name: 'company-token' } }),
        server('demo', 'tools', {
          incomingAuth: { type: 'oidc', resourceUrl: `${origin}/mcp`, oidcConfig: inline(origin) },
          authServerConfig: { issuer: origin, ...keys, ...upstreams },
        }),
      );
      await stage.ready('demo');
      await forward('vmcp-demo', SERVED);
      client = await OAuthClient.register(origin);
      tokens = await client.login({ user: 'alice' });
    }, 120_000);

    it('loses no call and no login, and in the end knows no old key', async () => {
      const before = await pods();
      const { url } = await stage.endpoint('demo');
      const authorization = `Bearer ${tokens.access_token}`;
      const headers = { host: new URL(originOf(SERVED)).host, authorization };
      const load = await startLoad({ url, headers }, 'whoami_whoami', { sessions: 2, every: 100 });
      await eventually(
        () => load.answers.length,
        (calls) => calls > 20,
      );

      await stage.patch('Secret', 'keys', {
        stringData: { 'signing-b': signingKey(), 'hmac-b': hmacKey('b') },
      });
      const old = kidOf(tokens.access_token);
      await useKeys('b', 'a');
      expect(await kids()).toEqual([expect.not.stringContaining(old), old]);
      // New keys verify at once, and sign after two minutes; tokens of the old keys stay valid.
      tokens = await refresh();
      expect(claimsOf(tokens.access_token)).toMatchObject({ iss: originOf(SERVED) });
      const makesAnew = async () => {
        tokens = await refresh();
        return kidOf(tokens.access_token) !== old;
      };
      await eventually(makesAnew, Boolean, 150_000);
      const calls = load.answers.length;
      await eventually(
        () => load.answers.length,
        (now) => now > calls + 20,
      );
      await load.stop();
      expect(load.failures).toEqual([]);

      await useKeys('b');
      expect(await kids()).not.toContain(old);
      tokens = await refresh();
      const said = await callTool(`${originOf(SERVED)}/mcp`, 'whoami_whoami', tokens.access_token);
      expect(said).toBeDefined();
      expect(await pods()).toEqual(before);
    }, 240_000);

    const SECOND = 'second-secret-of-the-client';
    const useSecret = (client: string) => stage.patch('Secret', 'keys', { stringData: { client } });
    const tries = async (value: string) => (await control(provider)).secrets[shortHash(value)] ?? 0;
    const isTried = (value: string, times: number) =>
      eventually(
        () => tries(value),
        (now) => now >= times,
        60_000,
      );
    /** Resolves when no pod reads a value any more. */
    const isForgotten = (value: string) =>
      eventually(
        async () => Object.values((await stage.get('Secret', 'vmcp-demo-credentials'))?.data ?? {}),
        (values) => !values.includes(Buffer.from(value).toString('base64')),
        60_000,
      );

    it('loses no call, login or refresh while the provider accepts both secrets, and stops sending the old one', async () => {
      const before = await pods();
      await control(provider, [
        ['client-secret', GATEWAY_CLIENT.secret],
        ['client-secret', SECOND],
        ['token-lifetime', String(LIFETIME.short)],
      ]);
      tokens = await client.login({ user: 'alice' });
      const { url } = await stage.endpoint('demo');
      const headers = { host: new URL(originOf(SERVED)).host, authorization: `Bearer ${tokens.access_token}` };
      const logins = startLogins(client, 'bob', tokens);
      try {
        const { failures, answers } = await underLoad(
          { url, headers },
          'company_whoami',
          async (load) => {
            const shown = await tries(GATEWAY_CLIENT.secret);
            await isTried(GATEWAY_CLIENT.secret, shown + 2);
            await useSecret(SECOND);
            await isForgotten(GATEWAY_CLIENT.secret);
            const [last, now] = [await tries(GATEWAY_CLIENT.secret), load.answers.at(-1)];
            await control(provider, [['client-secret', SECOND]]);
            const [logged, refreshed] = [logins.logins, logins.refreshes];
            // Alice's own token of the provider is renewed, other users log in, and sessions go on.
            await eventually(
              () => [load.answers.at(-1)?.tokenHash === now?.tokenHash, logins.logins, logins.refreshes] as const,
              ([isSame, some, more]) => !isSame && some >= logged + 2 && more >= refreshed + 5,
              60_000,
            );
            expect(await tries(GATEWAY_CLIENT.secret)).toBe(last);
            expect(await tries(SECOND)).toBeGreaterThan(2);
          },
          { sessions: 2, every: 100 },
        );
        await logins.stop();
        expect([failures, logins.failures]).toEqual([[], []]);
        expect(new Set(answers.map(({ subject }) => subject))).toEqual(new Set(['alice']));
      } finally {
        await logins.stop();
        await control(provider, [['token-lifetime', String(LIFETIME.long)]]);
      }
      expect(await pods()).toEqual(before);
    }, 240_000);

    it('continues calls and sessions when the provider changes the secret first, and logs in again once the Secret has it', async () => {
      const third = 'third-secret-of-the-client';
      const before = await pods();
      tokens = await client.login({ user: 'alice' });
      const call = () => callTool(`${originOf(SERVED)}/mcp`, 'company_whoami', tokens.access_token);
      const logsIn = () =>
        client.login({ user: 'bob' }).then(
          () => true,
          () => false,
        );
      await control(provider, [['client-secret', third]]);
      expect(await logsIn()).toBe(false);
      tokens = await refresh();
      expect(await call()).toMatchObject({ subject: 'alice', issuer: provider });
      await useSecret(third);
      await eventually(logsIn, Boolean, 60_000);
      tokens = await refresh();
      expect(await call()).toMatchObject({ subject: 'alice', issuer: provider });
      await isForgotten(SECOND);
      expect(await pods()).toEqual(before);
    }, 150_000);
  });

  it('keeps logins and loses no call when all pods of two replicas with Redis are replaced under load', async () => {
    const origin = originOf(SCALED);
    const address = await startRedisPod(cluster, stage.namespace.name);
    const keys = { signingKeySecretRefs: refs('signing', 'a'), hmacSecretRefs: refs('hmac', 'a') };
    const storage = { type: 'redis', redis: { addr: address } };
    await stage.apply(
      group('scaled'),
      backend('inner', { ...fake('scaled', 'whoami'), externalAuthConfigRef: { name: 'company-token' } }),
      server('scaled', 'scaled', {
        replicas: REPLICAS,
        sessionStorage: { provider: 'redis', address },
        incomingAuth: { type: 'oidc', resourceUrl: `${origin}/mcp`, oidcConfig: inline(origin) },
        authServerConfig: { issuer: origin, ...keys, ...upstreams, storage },
      }),
    );
    await stage.ready('scaled', 120_000);
    await untilSettled(stage, 'scaled', REPLICAS);
    const way = await forward('vmcp-scaled', SCALED, SERVED);
    const client = await OAuthClient.register(origin);
    const tokens = await client.login({ user: 'alice' });
    // The forwarded port leads to one of the replaced pods.
    await way.stop();
    const logins = await loginsAt(provider);
    expect(logins).toBeGreaterThan(0);

    const { url } = await stage.endpoint('scaled');
    const headers = { host: new URL(origin).host, authorization: `Bearer ${tokens.access_token}` };
    const { failures, answers } = await underLoad({ url, headers }, 'inner_whoami', () =>
      replacePods(stage, 'scaled', REPLICAS),
    );
    expect(failures).toEqual([]);
    const callers = new Set(answers.map(({ subject, issuer }) => `${String(subject)} of ${String(issuer)}`));
    expect([...callers]).toEqual([`alice of ${provider}`]);

    await forward('vmcp-scaled', SCALED, SERVED);
    const renewed = tokensOf(await client.refresh(tokens.refresh_token));
    expect(renewed.access_token).not.toBe(tokens.access_token);
    expect(await callTool(`${origin}/mcp`, 'inner_whoami', renewed.access_token)).toMatchObject({ subject: 'alice' });
    expect(await loginsAt(provider)).toBe(logins);
  }, 300_000);

  describe('at a remote server', () => {
    const origin = () => originOf(SHARED);
    const needed = (seen: Seen) => seen.conditions?.find(({ type }) => type === 'LoginNeeded')?.message;

    beforeAll(async () => {
      const [remoteUrl, address] = await Promise.all([
        startRemoteServer(stage),
        startRedisPod(cluster, stage.namespace.name),
      ]);
      const caBundleRef = { configMapRef: { name: 'remote-server', key: 'ca.crt' } };
      const remoteAuth = { administrators: ['nobody-yet'] };
      await stage.apply(
        group('remote'),
        backend('far', { groupRef: 'remote', remoteUrl, caBundleRef, remoteAuth }),
        server('shared', 'remote', {
          incomingAuth: { type: 'oidc', resourceUrl: `${origin()}/mcp`, oidcConfig: inline(origin()) },
          authServerConfig: { issuer: origin(), ...upstreams },
          sessionStorage: { provider: 'redis', address },
        }),
      );
    }, 120_000);

    it('names the administrators’ page in a condition when a login is needed', async () => {
      const seen = await stage.status('VirtualMCPServer', 'shared', (one) => needed(one) !== undefined, 90_000);
      expect(needed(seen)).toContain(`far: open ${origin()}/connections`);
      expect(seen.backends).toMatchObject([{ name: 'far', phase: 'Degraded' }]);
    }, 150_000);

    inChromium(`in Chromium${NO_CHROMIUM === undefined ? '' : ` (skipped: ${NO_CHROMIUM})`}`, () => {
      it('sends the token of an administrator’s login in the browser with the calls of all users', async () => {
        await forward('vmcp-shared', SHARED, SERVED);
        const client = await OAuthClient.register(origin());
        const { access_token: bob } = await client.login({ user: 'bob' });
        const call = () => callTool(`${origin()}/mcp`, 'far_whoami', bob);
        await expect(call()).rejects.toThrow();
        // vmcp trusts the remote server's certificate; the browser does not.
        const chromium = await openChromium({ ignoreHTTPSErrors: true });
        try {
          chromium.context.setDefaultTimeout(60_000);
          const page = await chromium.context.newPage();
          await page.goto(`${origin()}/connections`);
          await page.getByRole('button', { name: 'Sign in with company' }).click();
          await signInAs(page, 'alice');
          const administrators = [await page.locator('code').innerText()];
          expect(await page.getByRole('button', { name: 'Log in at far' }).count()).toBe(0);
          await stage.patch('MCPServer', 'far', { spec: { remoteAuth: { administrators } } });
          const logIn = page.getByRole('button', { name: 'Log in at far' });
          await eventually(async () => {
            await page.reload();
            return logIn.count();
          }, Boolean);
          await logIn.click();
          await signInAs(page, 'alice');
          await page.getByText('You are logged in at far.').waitFor();
          expect(new URL(page.url()).search).toBe('?logged-in=far');
        } finally {
          await chromium.close();
        }
        const seen = await stage.ready('shared', 90_000);
        expect(needed(seen)).toBeUndefined();
        const remote = await stage.get('MCPServer', 'far');
        expect(await call()).toMatchObject({ subject: 'alice', audience: [remote?.spec?.remoteUrl] });
      }, 240_000);
    });
  });

  it('serves logins at an MCPServer’s own endpoint, whose program gets the provider’s token', async () => {
    const origin = originOf(OWN);
    await stage.apply(
      {
        ...group('login'),
        kind: 'MCPExternalAuthConfig',
        spec: { type: 'embeddedAuthServer', embeddedAuthServer: { issuer: origin, ...upstreams } },
      },
      backend('inside', {
        ...fake('', 'whoami'),
        proxyPort: OWN,
        oidcConfig: inline(origin),
        externalAuthConfigRef: { name: 'login' },
      }),
    );
    await stage.status('MCPServer', 'inside', ({ phase }) => phase === 'Ready', 60_000);
    await forward('mcp-inside-proxy', OWN);
    const client = await OAuthClient.register(origin);
    const { access_token: token, refresh_token: renewal } = await client.login({ user: 'alice' });
    expect(claimsOf(token)).toMatchObject({ iss: origin, aud: `${origin}/mcp` });
    expect(await callTool(`${origin}/mcp`, 'whoami', token)).toMatchObject({ subject: 'alice' });
    expect(tokensOf(await client.refresh(renewal)).access_token).not.toBe(token);
    await expect(callTool(`${origin}/mcp`, 'whoami', 'none')).rejects.toThrow();
  }, 120_000);
});
