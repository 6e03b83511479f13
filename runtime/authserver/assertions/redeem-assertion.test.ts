import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { hashId, newId } from '../ids.ts';
import { createMemoryStorage } from '../storage/memory.ts';
import type { LinkRow } from '../storage/rows.ts';
import { JWT_BEARER } from '../token/issue-tokens.ts';
import {
  alice,
  RESOURCE,
  START,
  startTokenServer,
  type Came,
  type TokenServer,
} from '../token/testdata/token-server.ts';

/** The name of a secret file is the secret here. */
const SECRET = 'a+b c%41:ü/=';
const IDP = 'https://login.okta.example';
const OTHER_IDP = 'https://other.okta.example';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const KEYS = await generateKeyPair('ES256');
const OTHERS = await generateKeyPair('ES256');
const published = { keys: [{ ...(await exportJWK(KEYS.publicKey)), kid: 'k', alg: 'ES256' }] };
const SECOND = `${RESOURCE}/second`;

let keyServer: Server;
let jwks_url: string;
let keysAnswer: number;
let server: TokenServer;
const opened: TokenServer[] = [];

const CLIENTS = [{ client_id: 'chat', client_secret_file: SECRET }, { client_id: 'open' }];
const issuerOf = (changes: object = {}) => ({ issuer: IDP, jwks_url, clients: CLIENTS, ...changes });

async function open(issuer: object = {}, more: Parameters<typeof startTokenServer>[0] = {}): Promise<TokenServer> {
  const config = { identity_assertions: [issuerOf(issuer)], ...more.config };
  const one = await startTokenServer({ ...more, config });
  opened.push(one);
  return one;
}

beforeAll(async () => {
  keyServer = createServer((_request, response) => {
    response.writeHead(keysAnswer, { 'content-type': 'application/json' }).end(JSON.stringify(published));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => keyServer.once('listening', resolve));
  keysAnswer = 200;
  jwks_url = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/keys`;
  server = await startTokenServer({
    config: {
      clients: [{ client_id: 'desk', client_secret_file: SECRET, redirect_uris: ['https://desk.example/cb'] }],
      identity_assertions: [
        issuerOf({
          clients: [...CLIENTS, { client_id: 'signer', jwks_url }, { client_id: 'desk' }],
          scopes: ['mcp'],
        }),
        issuerOf({ issuer: OTHER_IDP, clients: [{ client_id: 'stranger' }] }),
      ],
    },
  });
});
afterEach(() => {
  keysAnswer = 200;
});
afterAll(async () => {
  for (const one of [server, ...opened]) await one.close();
  await new Promise((resolve) => keyServer.close(resolve));
});

interface Changes {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly key?: typeof KEYS.privateKey;
  readonly at?: TokenServer;
}

function assertion({ claims = {}, header = {}, key = KEYS.privateKey, at = server }: Changes = {}): Promise<string> {
  const seconds = Math.floor(at.clock.time / 1000);
  // JSON leaves undefined claims out.
  const all = {
    ...{ iss: IDP, sub: 'alice', aud: at.origin, client_id: 'open', resource: RESOURCE, scope: 'mcp' },
    ...{ iat: seconds, exp: seconds + 300, jti: newId(), email: 'alice@example.com' },
    ...claims,
  };
  return new SignJWT(all).setProtectedHeader({ alg: 'ES256', kid: 'k', typ: 'oauth-id-jag+jwt', ...header }).sign(key);
}

const redeem = (text: string, more: Record<string, string> = {}, at = server, headers?: Record<string, string>) =>
  at.post('/oauth/token', { grant_type: JWT_BEARER, assertion: text, client_id: 'open', ...more }, headers);

function expectRefused({ status, body }: Came, error = 'invalid_grant') {
  expect(body.error).toBe(error);
  expect(status).toBe({ invalid_client: 401, temporarily_unavailable: 503 }[error] ?? 400);
  expect(body.access_token).toBeUndefined();
}

const sessionOf = async ({ body }: Came, at = server) =>
  at.storage.getSession(String(decodeJwt(body.access_token).tsid));

describe('redeemAssertion', () => {
  it('issues an access token for the user, without a refresh token', async () => {
    const came = await redeem(await assertion());
    expect(came.status).toBe(200);
    expect(came.body).toMatchObject({ token_type: 'Bearer', expires_in: 3_600, scope: 'mcp' });
    expect(came.body.refresh_token).toBeUndefined();
    expect(decodeJwt(came.body.access_token)).toMatchObject({
      ...{ iss: server.origin, sub: alice.sub, aud: RESOURCE, client_id: 'open', scope: 'mcp' },
      email: 'alice@example.com',
    });
    expect(server.events.at(-1)).toMatchObject({
      ...{ type: 'auth_token_issued', outcome: 'success', subjects: { user_id: alice.sub } },
      details: { client_id: 'open', grant_type: 'jwt-bearer', issuer: IDP },
    });
  });

  it.each<[string, () => Changes]>([
    ['of another key', () => ({ key: OTHERS.privateKey })],
    ['of another type', () => ({ header: { typ: 'JWT' } })],
    ['without a type', () => ({ header: { typ: undefined } })],
    ['for another audience', () => ({ claims: { aud: 'https://other.example' } })],
    ['for the issuer with a slash', () => ({ claims: { aud: `${server.origin}/` } })],
    ['for two audiences', () => ({ claims: { aud: [server.origin, 'https://other.example'] } })],
    ['for one audience twice', () => ({ claims: { aud: [server.origin, server.origin] } })],
    ['without an audience', () => ({ claims: { aud: undefined } })],
    ['of an unknown issuer with the same subject', () => ({ claims: { iss: 'https://evil.okta.example' } })],
    ['of an issuer that is trusted for other clients', () => ({ claims: { iss: OTHER_IDP } })],
    ['without an issuer', () => ({ claims: { iss: undefined } })],
    ['without a subject', () => ({ claims: { sub: undefined } })],
    ['for another client', () => ({ claims: { client_id: 'chat' } })],
    ['without a client', () => ({ claims: { client_id: undefined } })],
    ['for another resource', () => ({ claims: { resource: 'https://other.example/mcp' } })],
    ['for a longer resource', () => ({ claims: { resource: `${RESOURCE}/` } })],
    ['for an empty list of resources', () => ({ claims: { resource: [] } })],
    ['without jti', () => ({ claims: { jti: undefined } })],
    ['without iat', () => ({ claims: { iat: undefined } })],
    ['without exp', () => ({ claims: { exp: undefined } })],
    ['that has expired', () => ({ claims: { exp: START / 1000 - 1, iat: START / 1000 - 200 } })],
    ['that begins in the future', () => ({ claims: { nbf: START / 1000 + 60 } })],
    ['that was issued in the future', () => ({ claims: { iat: START / 1000 + 60 } })],
    ['that is valid for an hour', () => ({ claims: { exp: START / 1000 + 3_600 } })],
    ['that is bound to a key', () => ({ claims: { cnf: { jkt: 'x' } } })],
    ['of a tenant', () => ({ claims: { tenant: 'acme' } })],
    ['that is an ID token', () => ({ claims: { nonce: 'x' } })],
  ])('refuses an assertion %s', async (_name, changes) => {
    const before = (await server.storage.sizes()).sessions;
    expectRefused(await redeem(await assertion(changes())));
    expect((await server.storage.sizes()).sessions).toBe(before);
  });

  it('refuses an assertion that is unsigned or signed with the public key as a secret, and text', async () => {
    const [, payload = ''] = (await assertion()).split('.');
    const header = { alg: 'none', typ: 'oauth-id-jag+jwt' };
    expectRefused(await redeem(`${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.`));
    const mac = new SignJWT(decodeJwt(await assertion())).setProtectedHeader({ ...header, alg: 'HS256' });
    expectRefused(await redeem(await mac.sign(Buffer.from(JSON.stringify(published.keys[0])))));
    expectRefused(await redeem('no JWT'));
    expectRefused(await redeem('', {}), 'invalid_request');
  });

  it('accepts it once, also while several requests redeem it', async () => {
    const text = await assertion();
    const came = await Promise.all([1, 2, 3, 4].map(() => redeem(text)));
    expect(came.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    expectRefused(await redeem(text));
    expect(
      (await redeem(await assertion({ claims: { jti: decodeJwt(text).jti, exp: START / 1000 + 60 } }))).status,
    ).toBe(400);
  });

  it('keeps one session for eight redemptions at once, and extends it', async () => {
    const texts = await Promise.all(Array.from({ length: 8 }, () => assertion({ claims: { sub: 'eve' } })));
    const came = await Promise.all(texts.map((text) => redeem(text)));
    const keys = new Set(came.map(({ body }) => decodeJwt(body.access_token).tsid));
    expect([came.every(({ status }) => status === 200), keys.size]).toEqual([true, 1]);
    expect(await server.storage.sessionsOf(String(decodeJwt(came[0]!.body.access_token).sub))).toEqual([...keys]);
  });

  it('accepts a resource in a list, and none where the server has one', async () => {
    expect((await redeem(await assertion({ claims: { resource: ['https://x.example', RESOURCE] } }))).status).toBe(200);
    expect((await redeem(await assertion({ claims: { resource: undefined } }))).status).toBe(200);
    expect((await redeem(await assertion(), { resource: RESOURCE })).status).toBe(200);
    expectRefused(await redeem(await assertion(), { resource: `${RESOURCE}/` }), 'invalid_target');
  });

  it('refuses an assertion without a resource where the server has several, and another one than was asked for', async () => {
    const at = await open({}, { settings: { resources: [RESOURCE, SECOND] } });
    const claims = { resource: undefined };
    expectRefused(await redeem(await assertion({ claims, at }), { resource: SECOND }, at));
    expectRefused(await redeem(await assertion({ at }), { resource: SECOND }, at));
    const came = await redeem(await assertion({ claims: { resource: SECOND }, at }), {}, at);
    expect(decodeJwt(came.body.access_token).aud).toBe(SECOND);
  });

  it('intersects the scopes of assertion, request and issuer', async () => {
    const at = await open(
      { scopes: ['read', 'write'] },
      {
        config: {
          scopes_supported: ['mcp', 'read', 'write', 'offline_access'],
          identity_assertions: [issuerOf({ scopes: ['read', 'write'] })],
        },
      },
    );
    const scopeOf = async (asserted: string | undefined, asked?: string) => {
      const came = await redeem(
        await assertion({ claims: { scope: asserted }, at }),
        asked === undefined ? {} : { scope: asked },
        at,
      );
      return came.status === 200 ? came.body.scope : came.body.error;
    };
    expect(await scopeOf('read mcp offline_access')).toBe('read');
    expect(await scopeOf('read write', 'write mcp')).toBe('write');
    expect(await scopeOf(undefined)).toBe('read write');
    expect(await scopeOf('mcp')).toBe('invalid_scope');
    expect(await scopeOf('read', 'write')).toBe('invalid_scope');
  });

  it('answers 503 without a session while no more assertions can be remembered, or the keys cannot be read', async () => {
    const clock = { time: START };
    const storage = createMemoryStorage({ now: () => clock.time, bounds: { rows: 1 } });
    const at = await open({}, { storage, clock });
    expect((await redeem(await assertion({ at }), {}, at)).status).toBe(200);
    expectRefused(await redeem(await assertion({ at }), {}, at), 'temporarily_unavailable');
    clock.time += 400_000;
    expect((await redeem(await assertion({ at }), {}, at)).status).toBe(200);
    const broken = await open();
    keysAnswer = 500;
    expectRefused(await redeem(await assertion({ at: broken }), {}, broken), 'temporarily_unavailable');
  });

  it('accepts only the configured tenant and lifetime', async () => {
    const at = await open({ tenant: 'acme', max_lifetime: '1m' });
    expectRefused(await redeem(await assertion({ claims: { tenant: 'acme' }, at }), {}, at));
    const exp = START / 1000 + 60;
    expect((await redeem(await assertion({ claims: { tenant: 'acme', exp }, at }), {}, at)).status).toBe(200);
    for (const tenant of ['other', undefined, ['acme']])
      expectRefused(await redeem(await assertion({ claims: { tenant, exp }, at }), {}, at));
  });

  it('refuses the grant on a server without issuers of assertions', async () => {
    const at = await startTokenServer();
    opened.push(at);
    expectRefused(await redeem('x', {}, at), 'unsupported_grant_type');
  });
});

describe('client of an assertion', () => {
  const basic = (user: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
  });

  it('authenticates by its secret, as it is or form-encoded, in the header or the body', async () => {
    const encoded = encodeURIComponent(SECRET).replaceAll('%20', '+');
    const text = () => assertion({ claims: { client_id: 'chat' } });
    const more = { client_id: 'chat' };
    for (const secret of [SECRET, encoded])
      expect((await redeem(await text(), more, server, basic('chat', secret))).status).toBe(200);
    expect((await redeem(await text(), { ...more, client_secret: SECRET })).status).toBe(200);
    expectRefused(await redeem(await text(), more), 'invalid_client');
    expectRefused(await redeem(await text(), more, server, basic('chat', SECRET.replace('+', ' '))), 'invalid_client');
  });

  it('authenticates by private_key_jwt', async () => {
    const seconds = START / 1000;
    const claims = { iss: 'signer', sub: 'signer', aud: server.origin, iat: seconds, exp: seconds + 60, jti: newId() };
    const client_assertion = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .sign(KEYS.privateKey);
    const text = await assertion({ claims: { client_id: 'signer' } });
    const more = { client_id: 'signer', client_assertion, client_assertion_type: ASSERTION_TYPE };
    expect((await redeem(text, more)).status).toBe(200);
    expectRefused(
      await redeem(await assertion({ claims: { client_id: 'signer' } }), { client_id: 'signer' }),
      'invalid_client',
    );
  });

  it('may be one of authServerConfig.clients, with the credential of that entry', async () => {
    const text = () => assertion({ claims: { client_id: 'desk' } });
    expect((await redeem(await text(), { client_id: 'desk', client_secret: SECRET })).status).toBe(200);
    expectRefused(await redeem(await text(), { client_id: 'desk' }), 'invalid_client');
  });

  it('has no other grant, and no other client has this one', async () => {
    const form = { grant_type: 'client_credentials', client_id: 'chat', client_secret: SECRET };
    expectRefused(await server.post('/oauth/token', form), 'unauthorized_client');
    const dynamic = await server.client();
    const text = await assertion({ claims: { client_id: dynamic } });
    expectRefused(await redeem(text, { client_id: dynamic }), 'unauthorized_client');
  });

  it.each([true, false])(
    'with a metadata document redeems only while the document can be read: %s',
    async (isKnown) => {
      const client_id = 'https://app.example/oauth/client.json';
      const clients = { isKnown: () => Promise.resolve(isKnown), use: () => Promise.resolve() };
      const at = await open({ clients: [{ client_id }] }, { settings: { clients } });
      const came = await redeem(await assertion({ claims: { client_id }, at }), { client_id }, at);
      expect(came.body.error).toBe(isKnown ? undefined : 'invalid_client');
    },
  );
});

describe('user of an assertion', () => {
  it('equals the user of a login at the primary provider, with the claims of the assertion alone', async () => {
    const claims = { groups: ['dev'], realm: { roles: ['a'] }, act: { sub: 'x' } };
    const session = await sessionOf(await redeem(await assertion({ claims })));
    expect(session?.sub).toBe(alice.sub);
    expect(session?.user.claims).toMatchObject({ groups: ['dev'], 'realm.roles': ['a'] });
    expect(Object.keys(session?.user.claims ?? {})).not.toContain('client_id');
  });

  it.each([
    ['another claim', { subject_claim: 'oid' }, { oid: 'alice' }],
    ['another issuer', { issuer: OTHER_IDP }, { iss: OTHER_IDP }],
  ])('differs with %s, even with the same text', async (_name, issuer, claims) => {
    const at = await open(issuer);
    const came = await redeem(await assertion({ claims, at }), {}, at);
    const { sub = '' } = decodeJwt(came.body.access_token);
    expect(sub).toMatch(/^[\w-]{43}$/);
    expect([alice.sub, hashId(JSON.stringify([OTHER_IDP, 'alice']))]).not.toContain(sub);
  });

  it('gets no token without the subject claim, or without a claim that policies read', async () => {
    const at = await open({ subject_claim: 'oid' });
    expectRefused(await redeem(await assertion({ at }), {}, at));
    for (const [reads, claims, error] of [
      [{ claims: ['level'], groups: false }, {}, 'invalid_grant'],
      [{ claims: ['level'], groups: false }, { level: 3 }, undefined],
      [{ claims: ['email', 'sub', 'client_id'], groups: false }, {}, undefined],
      [{ claims: ['email'], groups: false }, { email: undefined }, 'invalid_grant'],
      [{ claims: [], groups: true }, {}, 'invalid_grant'],
      [{ claims: [], groups: true }, { groups: [] }, undefined],
      [{ claims: [], groups: true }, { roles: ['a'] }, undefined],
    ] as const) {
      const assertions = { ...server.settings.assertions, reads: () => ({ ...reads, groupsClaim: undefined }) };
      const strict = await open({}, { settings: { assertions } });
      expect((await redeem(await assertion({ claims, at: strict }), {}, strict)).body.error).toBe(error);
    }
  });

  it('has the groups of groupsClaim, and the email of emailClaim', async () => {
    const at = await open({ groups_claim: 'org.teams', email_claim: 'mail' });
    const claims = { groups: ['forged'], org: { teams: ['dev'] }, mail: 'a@b.example' };
    const session = await sessionOf(await redeem(await assertion({ claims, at }), {}, at), at);
    expect(session?.user).toMatchObject({ email: 'a@b.example', claims: { groups: ['dev'] } });
    const without = await sessionOf(await redeem(await assertion({ claims: { groups: ['x'] }, at }), {}, at), at);
    expect(without?.user.claims.groups).toBeUndefined();
  });

  it('keeps links for as long as redemptions go on', async () => {
    const HOUR = 3_600_000;
    const at = await open();
    const row: LinkRow = {
      ...{ account: alice, sealed: 'k.iv.text', expires_at: undefined, linked_at: START, state: 'linked', version: 0 },
    };
    const links = { git: row };
    await at.storage.finishLogin({ sub: alice.sub, links, code: undefined, lifespan: 12 * HOUR });
    for (let day = 0; day < 10; day += 1) {
      await redeem(await assertion({ at }), {}, at);
      at.clock.time += 24 * HOUR;
    }
    expect(Object.keys(await at.storage.linksOf(alice.sub))).toEqual(['git']);
    at.clock.time += 30 * 24 * HOUR;
    expect(await at.storage.linksOf(alice.sub)).toEqual({});
  });
});

describe('revocation of assertions', () => {
  it('refuses assertions that were issued up to the revocation of a token, for its client alone', async () => {
    const at = await open();
    const [first, second] = [await assertion({ at }), await assertion({ at })];
    const { body } = await redeem(first, {}, at);
    at.clock.time += 1_000;
    const text = await assertion({ claims: { client_id: 'chat' }, at });
    await at.post('/oauth/revoke', { token: body.access_token, client_id: 'open' });
    expectRefused(await redeem(second, {}, at));
    expectRefused(await redeem(await assertion({ at }), {}, at));
    expect((await redeem(text, { client_id: 'chat', client_secret: SECRET }, at)).status).toBe(200);
    at.clock.time += 1_000;
    const again = await redeem(await assertion({ at }), {}, at);
    expect(again.status).toBe(200);
    expect(decodeJwt(again.body.access_token).tsid).not.toBe(decodeJwt(body.access_token).tsid);
  });

  it('refuses a blocked user every grant', async () => {
    const at = await open({}, { config: { identity_assertions: [issuerOf()], blocked_users: [alice.sub] } });
    expectRefused(await redeem(await assertion({ at }), {}, at));
    expect((await redeem(await assertion({ claims: { sub: 'bob' }, at }), {}, at)).status).toBe(200);
    const client = await at.client();
    expectRefused(await at.redeem(await at.code(client), client));
  });
});
