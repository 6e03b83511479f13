import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { JWK } from 'jose';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { ID_JAG, TARGET_CLIENT } from '../fakes/identity-provider/id-jag.ts';
import { KEY_CLIENT, serveTarget } from '../fakes/identity-provider/serve-target.ts';
import { shortHash } from '../fakes/whoami/describe-caller.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange, type Arrangement } from './arrangement.ts';
import { callWhoami, toolNames, whoIs } from './call-tool.ts';
import { findSecrets } from './find-secrets.ts';
import type { ProviderSpec } from './providers.ts';
import { setWallClock } from './wall-clock.ts';

type BackendAuth = NonNullable<RunConfigDocument['backends'][number]['auth']>;
type Xaa = Extract<BackendAuth, { type: 'xaa' }>;

/** Its access tokens live longer than its ID tokens of one hour. */
const OKTA: ProviderSpec = { name: 'okta', kind: 'real', tokenLifetime: 3 * 3_600 };
/** Milliseconds. */
const LIFETIME_OF_ID_TOKENS = 3_600_000;
const RESOURCE = 'https://chat.example/mcp';
const RESERVED = 'https://reports.example/mcp';

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Starts backends behind an authorization server that trusts the identity provider: `chat` by xaa, two by client credentials. */
async function start(changes: Partial<Xaa> = {}) {
  const setup = closing(await arrange({ providers: [OKTA] }));
  const { real: idp } = setup.providers.okta!;
  const target = closing(await serveTarget(idp!, { ...(publicKey.export({ format: 'jwk' }) as JWK), alg: 'ES256' }));
  const file = (name: string) => join(setup.folder, name);
  await writeFile(file('target-secret'), TARGET_CLIENT.secret);
  await writeFile(file('client-key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const xaa: Xaa = {
    type: 'xaa',
    idp_token_url: idp!.tokenUrl,
    idp_client_id: 'vmcp',
    idp_client_secret_file: file('secret-of-okta'),
    target_token_url: target.tokenUrl,
    target_client_id: TARGET_CLIENT.id,
    target_client_secret_file: file('target-secret'),
    target_audience: target.issuer,
    target_resource: RESOURCE,
    scopes: ['read'],
    subject_provider_name: 'okta',
    ...changes,
  };
  const client = {
    type: 'client_credentials' as const,
    token_url: target.tokenUrl,
    resource: RESERVED,
    scopes: ['read'],
  };
  const keyed = { ...client, client_id: KEY_CLIENT, private_key_file: file('client-key'), issuer: target.issuer };
  const secret = { ...client, client_id: TARGET_CLIENT.id, client_secret_file: file('target-secret') };
  const backends = [
    ...setup.configOf().backends.filter(({ name }) => name === 'okta'),
    ...Object.entries({ chat: xaa, keyed, secret }).map(([name, auth]) => ({
      name,
      transport: 'streamable-http' as const,
      url: setup.whoami.url,
      auth,
    })),
  ];
  await setup.restart({ backends });
  const login = async (user: string) => (await (await setup.client()).login({ user })).access_token;
  return { setup, idp: idp!, target, login, backends };
}

const textOf = async ({ resource }: Arrangement, token: string, backend: string) =>
  JSON.stringify((await callWhoami(resource, token, backend)).answer);

describe('enterprise-managed authorization at a backend', () => {
  it('gives each caller a token of the backend’s server, by one redemption for many calls', async () => {
    const { setup, target, login } = await start();
    for (const user of ['alice', 'bob']) {
      const token = await login(user);
      const callers = await Promise.all([1, 2, 3, 4].map(() => whoIs(setup.resource, token, 'chat')));
      for (const caller of callers)
        expect(caller).toMatchObject({ subject: user, issuer: target.issuer, audience: [RESOURCE], scopes: ['read'] });
    }
    expect(target.redeemed).toHaveLength(2);
  });

  it('redeems a fresh assertion after a restart, as the target takes none twice', async () => {
    const { setup, target, login, backends } = await start();
    for (const serial of [1, 2]) {
      const token = await login('alice');
      expect(await whoIs(setup.resource, token, 'chat')).toMatchObject({ subject: 'alice', issuer: target.issuer });
      expect(new Set(target.redeemed).size).toBe(serial);
      await setup.restart({ backends });
    }
  });

  it('renews an ID token that has expired, while the access token of the provider is valid', async () => {
    const clock = setWallClock();
    const { setup, target, login } = await start();
    const token = await login('alice');
    await whoIs(setup.resource, token, 'chat');
    clock.forward(3_595_000);
    expect(await whoIs(setup.resource, token, 'chat')).toMatchObject({ subject: 'alice', issuer: target.issuer });
    expect(target.redeemed).toHaveLength(2);
  });

  it('fails only its own calls while the identity provider refuses, with an error that names the backend', async () => {
    const { setup, target, login } = await start({ target_audience: 'https://elsewhere.example' });
    const token = await login('alice');
    expect(await textOf(setup, token, 'chat')).toMatch(/token service of backend chat refused/);
    expect(target.redeemed).toEqual([]);
    expect(await whoIs(setup.resource, token, 'okta')).toMatchObject({ subject: 'alice' });
    expect(await toolNames(setup.resource, token)).toContain('keyed_whoami');
  });

  it('writes no token and no secret to the log', async () => {
    const { setup, idp, login } = await start();
    const token = await login('alice');
    await whoIs(setup.resource, token, 'chat');
    idp.setFault('token', 'fail');
    const bob = await login('bob').catch(() => undefined);
    expect(bob).toBeUndefined();
    const secrets = new Map([
      [TARGET_CLIENT.secret, 'the secret at the target'],
      [setup.providers.okta!.secret, 'the secret at the identity provider'],
      [token, 'the token of the client'],
    ]);
    expect(findSecrets({ log: setup.gateway.log() }, secrets)).toEqual([]);
    expect(setup.gateway.log()).not.toMatch(/eyJ[\w-]{20}/);
  });
});

/** Answers both token endpoints of `xaa`, for an identity provider that issues no assertions itself. */
async function serveTokenEndpoints() {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const assertion = `${part({ alg: 'none', typ: 'oauth-id-jag+jwt' })}.${part({ aud: 'target' })}.`;
  const server = createServer((request, response) => {
    request.resume();
    const idJag = { access_token: assertion, issued_token_type: ID_JAG, token_type: 'N_A' };
    const token = { access_token: 'of-target', token_type: 'Bearer', expires_in: 60 };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(request.url === '/idp' ? idJag : token));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing({ close: () => new Promise((resolve) => server.close(resolve)) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a provider that keeps an old ID token', () => {
  it('leads the user of xaa to a login, and leaves the other backends of the provider alone', async () => {
    const clock = setWallClock();
    const origin = await serveTokenEndpoints();
    const okta: ProviderSpec = {
      name: 'okta',
      kind: 'odd',
      options: { oidc: true, refresh: 'keeps', expiresIn: 86_400 },
    };
    const endpoints = {
      idp_token_url: `${origin}/idp`,
      target_token_url: `${origin}/target`,
      target_audience: 'target',
    };
    const auth = { type: 'xaa' as const, subject_provider_name: 'okta', ...endpoints };
    const authServer = { token_lifespans: { access_token_lifespan: '3h' } };
    const setup = closing(await arrange({ providers: [okta], authServer }));
    const chat = { name: 'chat', transport: 'streamable-http' as const, url: setup.whoami.url, auth };
    await setup.restart({ backends: [...setup.configOf().backends, chat] });
    const client = await setup.client();
    const { access_token: token } = await client.login({ user: 'alice' });
    await whoIs(setup.resource, token, 'chat');
    setup.providers.okta!.odd!.setIdTokenFault('missing');
    clock.forward(LIFETIME_OF_ID_TOKENS);
    expect(await textOf(setup, token, 'chat')).toMatch(/connections\/link\?ticket=/);
    expect((await whoIs(setup.resource, token, 'okta')).tokenHash).not.toBeNull();
    setup.providers.okta!.odd!.setIdTokenFault(undefined);
    await client.login({ user: 'alice' });
    expect(await whoIs(setup.resource, token, 'chat')).toMatchObject({ tokenHash: shortHash('of-target') });
  });
});

describe('client credentials at a backend', () => {
  it.each([
    ['a secret', 'secret', TARGET_CLIENT.id],
    ['a private key', 'keyed', KEY_CLIENT],
  ])('give all callers one token of the client with %s', async (_case, backend, client) => {
    const { setup, target, login } = await start();
    for (const user of ['alice', 'bob']) {
      const caller = await whoIs(setup.resource, await login(user), backend);
      expect(caller).toMatchObject({ subject: client, issuer: target.issuer, audience: [RESERVED], scopes: ['read'] });
    }
    expect(target.clients.filter((one) => one === client)).toHaveLength(1);
  });
});
