import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  Client,
  createPrivateKeyJwtAuth,
  CrossAppAccessProvider,
  requestJwtAuthorizationGrant,
  StreamableHTTPClientTransport,
  type CrossAppAccessContext,
  type CrossAppAccessProviderOptions,
} from '@modelcontextprotocol/client';
import { decodeJwt, exportJWK, exportPKCS8, generateKeyPair, type JWTPayload } from 'jose';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TARGET_CLIENT } from '../fakes/identity-provider/id-jag.ts';
import { GATEWAY_CLIENT } from '../fakes/identity-provider/users.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange, type ArrangementOptions } from './arrangement.ts';
import { callWhoami } from './call-tool.ts';
import { postForm } from './oauth-client.ts';
import type { ProviderSpec } from './providers.ts';
import { signOutEverywhere } from './sign-out-everywhere.ts';
import { describeOnEachStorage } from './storages.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'real' };
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const KEYS = await generateKeyPair('ES256', { extractable: true });

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

/** Serves the public key of a client. */
async function serveKeys(): Promise<string> {
  const keys = JSON.stringify({ keys: [await exportJWK(KEYS.publicKey)] });
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(keys);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing({ close: () => new Promise((resolve) => server.close(resolve)) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

type Credential = 'secret' | 'key' | 'none';

/** Starts a gateway whose primary provider is a real OpenID provider that issues ID-JAGs for it. */
async function start(credential: Credential = 'secret', options: ArrangementOptions = {}) {
  const at = closing(
    await arrange({ providers: [OKTA], files: { 'secret-of-client': TARGET_CLIENT.secret }, ...options }),
  );
  const idp = at.providers.okta!.real!;
  const client = {
    client_id: TARGET_CLIENT.id,
    ...(credential === 'secret' && { client_secret_file: 'secret-of-client' }),
    ...(credential === 'key' && { jwks_url: await serveKeys() }),
  };
  const issuer = { issuer: idp.issuer, jwks_url: idp.jwksUrl, clients: [client] };
  const changes = {
    embedded_auth_server_config: { ...at.configOf().embedded_auth_server_config!, identity_assertions: [issuer] },
  };
  await at.restart(changes);
  const replica = () => at.replica(changes);
  /** Exchanges an ID token of the user for an assertion, by the SDK. */
  const assertionFor =
    (user: string) =>
    async ({
      authorizationServerUrl: audience,
      resourceUrl: resource,
      scope,
    }: Pick<CrossAppAccessContext, 'authorizationServerUrl' | 'resourceUrl' | 'scope'>) => {
      const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
        ...{ tokenEndpoint: idp.tokenUrl, audience, resource },
        idToken: await idp.sign({ sub: user, aud: GATEWAY_CLIENT.id }),
        clientId: GATEWAY_CLIENT.id,
        clientSecret: GATEWAY_CLIENT.secret,
        ...(scope !== undefined && { scope }),
      });
      return jwtAuthGrant;
    };
  const fetchAssertion = (user = 'alice') =>
    assertionFor(user)({ authorizationServerUrl: at.origin, resourceUrl: at.resource });
  const provide = (user = 'alice', Provider = CrossAppAccessProvider) =>
    new Provider({
      assertion: assertionFor(user),
      clientId: TARGET_CLIENT.id,
      clientSecret: TARGET_CLIENT.secret,
      expectedIssuer: at.origin,
    });
  const connect = async (provider: CrossAppAccessProvider) => {
    const client = new Client({ name: 'chat', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(at.resource), { authProvider: provider }));
    closing(client);
    return client;
  };
  const redeem = (assertion: string, origin = at.origin) =>
    postForm(`${origin}/oauth/token`, {
      ...{ grant_type: JWT_BEARER, assertion, client_id: TARGET_CLIENT.id },
      ...(credential === 'secret' && { client_secret: TARGET_CLIENT.secret }),
    });
  return { at, idp, changes, replica, fetchAssertion, provide, connect, redeem };
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe('identity assertions of a real OpenID provider', () => {
  it('log a user in by the SDK’s CrossAppAccessProvider, whose secret contains a plus sign', async () => {
    const { provide, connect, idp } = await start();
    const provider = provide();
    const client = await connect(provider);
    expect(await namesOf(client)).toContain('connect_okta');
    expect(decodeJwt(provider.tokens()!.access_token)).toMatchObject({ client_id: TARGET_CLIENT.id });
    expect(provider.tokens()).not.toHaveProperty('refresh_token');
    expect(idp.issuer).not.toBe('');
  });

  it('log a user in by the SDK with private_key_jwt', async () => {
    const privateKey = await exportPKCS8(KEYS.privateKey);
    const addAuth = (issuer: string) =>
      createPrivateKeyJwtAuth({
        issuer: TARGET_CLIENT.id,
        subject: TARGET_CLIENT.id,
        privateKey,
        alg: 'ES256',
        audience: issuer,
      });
    const { at, provide, connect } = await start('key');
    class KeyedProvider extends CrossAppAccessProvider {
      readonly addClientAuthentication = addAuth(at.origin);
    }
    const provider = provide('alice', KeyedProvider);
    expect(await namesOf(await connect(provider))).toContain('connect_okta');
  });

  it('log a user in by the SDK as a public client', async () => {
    class PublicProvider extends CrossAppAccessProvider {
      constructor(options: CrossAppAccessProviderOptions & { expectedIssuer: string }) {
        super({ ...options, clientSecret: '' });
      }
      override clientInformation() {
        return { client_id: TARGET_CLIENT.id };
      }
    }
    const { provide, connect } = await start('none');
    expect(await namesOf(await connect(provide('alice', PublicProvider)))).toContain('connect_okta');
  });

  it('serve eight clients at once by eight redemptions and one session', async () => {
    const { provide, connect } = await start();
    const providers = Array.from({ length: 8 }, () => provide());
    await Promise.all(providers.map(async (provider) => namesOf(await connect(provider))));
    const claims = providers.map((provider) => decodeJwt(provider.tokens()!.access_token));
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(8);
    expect(new Set(claims.map(({ tsid }) => tsid)).size).toBe(1);
  });

  it('share the linked providers of the browser login of the same user, and of no other', async () => {
    const { at, fetchAssertion, redeem } = await start();
    const { access_token: browser } = await (await at.client()).login({ user: 'alice' });
    for (const [user, sees] of [
      ['alice', true],
      ['bob', false],
    ] as const) {
      const { body } = await redeem(await fetchAssertion(user));
      const token = String(body.access_token);
      expect(decodeJwt(token).sub === decodeJwt(browser).sub).toBe(sees);
      const told = JSON.stringify((await callWhoami(at.resource, token, 'okta')).answer);
      expect(told.includes('connections/link?ticket=')).toBe(!sees);
    }
  });

  it('serve no blocked user, and end the tokens for good', async () => {
    const { at, changes, fetchAssertion, redeem } = await start();
    const token = String((await redeem(await fetchAssertion())).body.access_token);
    const status = async () => (await callWhoami(at.resource, token, 'okta')).status;
    expect(await status()).toBe(200);
    const listen = { port: Number(new URL(at.origin).port), private_port: 0 };
    const server = changes.embedded_auth_server_config;
    const reconfigure = (blocked_users: string[]) =>
      at.gateway.reconfigure({ ...at.configOf(), listen, embedded_auth_server_config: { ...server, blocked_users } });
    await reconfigure([String(decodeJwt(token).sub)]);
    expect(await status()).toBe(401);
    expect((await redeem(await fetchAssertion())).body.error).toBe('invalid_grant');
    expect((await redeem(await fetchAssertion('bob'))).status).toBe(200);
    await reconfigure([]);
    expect(await status()).toBe(401);
  });

  it('log no user in where policies read a claim that they lack', async () => {
    const authz = {
      mode: 'enforce' as const,
      policies: [
        'permit(principal, action, resource) unless { principal has claim_level && principal.claim_level == 0 };',
      ],
      entities_json: '[]',
    };
    const { at, idp, redeem } = await start('secret', { config: { authz } });
    const now = Math.floor(Date.now() / 1000);
    const sign = (claims: JWTPayload) =>
      idp.sign(
        {
          ...{ sub: 'alice', aud: at.origin, client_id: TARGET_CLIENT.id, resource: at.resource },
          ...{ jti: crypto.randomUUID(), exp: now + 300, ...claims },
        },
        { typ: 'oauth-id-jag+jwt' },
      );
    expect((await redeem(await sign({}))).body.error).toBe('invalid_grant');
    expect((await redeem(await sign({ level: 3 }))).status).toBe(200);
  });
});

describeOnEachStorage(
  'an assertion at two replicas',
  (fixture) => {
    it('has one winner, also when another replica gets the copy', async () => {
      const { replica, fetchAssertion, redeem } = await start('secret', { storage: fixture().fresh(), replicas: 2 });
      const { origin } = new URL((await replica()).url);
      const assertion = await fetchAssertion();
      const came = await Promise.all([undefined, origin, undefined, origin].map((where) => redeem(assertion, where)));
      expect(came.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
      expect((await redeem(assertion, origin)).body.error).toBe('invalid_grant');
    });

    it('ends with its session at every replica within five seconds of signing out', async () => {
      const { at, replica, fetchAssertion, redeem } = await start('secret', {
        storage: fixture().fresh(),
        replicas: 2,
      });
      const other = await replica();
      await (await at.client()).login({ user: 'alice' });
      const unused = await fetchAssertion();
      const token = String((await redeem(await fetchAssertion())).body.access_token);
      expect((await callWhoami(other.url, token, 'okta')).status).toBe(200);
      await signOutEverywhere(at.origin, { user: 'alice' });
      const until = Date.now() + 6_000;
      let { status } = await callWhoami(other.url, token, 'okta');
      while (status === 200 && Date.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        ({ status } = await callWhoami(other.url, token, 'okta'));
      }
      expect(status).toBe(401);
      expect((await redeem(unused, new URL(other.url).origin)).body.error).toBe('invalid_grant');
    });
  },
  ['sqlite', 'redis'],
);
