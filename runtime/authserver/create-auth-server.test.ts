import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { request } from 'undici';
import type { ProxySettings } from '#lib/connections/proxy';
import { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import { findFreePort } from '../../e2e/gateway/find-free-port.ts';
import type { AuthServer } from './auth-server.ts';
import { createAuthServer } from './create-auth-server.ts';
import { hashId, newId } from './ids.ts';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import { openStorage } from './storage/open-storage.ts';
import type { LinkRow } from './storage/rows.ts';
import { alice } from './token/testdata/token-server.ts';
import { writeCode } from './token-formats/authorization-code.ts';
import { READS_NOTHING } from '#runtime/policy/policy-reads';

const ISSUER = 'http://127.0.0.1:4483';
const RESOURCE = `${ISSUER}/mcp`;
const VERIFIER = 'v'.repeat(43);
const REDIRECT = 'http://127.0.0.1/callback';
const MINUTE = 60_000;

const pem = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
const LINK: LinkRow = {
  account: alice,
  sealed: 'k.iv.text',
  expires_at: undefined,
  linked_at: 1,
  state: 'linked',
  version: 0,
};
const OKTA = { type: 'oidc', name: 'okta', oidc_config: { client_id: 'v', issuer_url: 'https://okta.example' } };
const GITHUB = {
  type: 'oauth2',
  name: 'github',
  required: false,
  oauth2_config: {
    client_id: 'v',
    client_secret_file: 'github-secret',
    authorization_endpoint: 'https://github.example/authorize',
    token_endpoint: 'https://github.example/token',
  },
};

describe('createAuthServer', () => {
  let files: Record<string, string>;
  let clock: { time: number };
  let folder: string;
  let server: AuthServer;
  let http: Server;
  let origin: string;

  const configOf = (more: object = {}) =>
    AuthServerConfig.parse({
      issuer: ISSUER,
      allowed_audiences: [RESOURCE],
      upstreams: [OKTA],
      signing_key_config: { signing_key_file: 'key-1' },
      hmac_secret_files: ['secret-1'],
      storage: { type: 'sqlite', file: join(folder, 'store.sqlite') },
      ...more,
    });
  const read = (file: string): string => {
    const content = files[file];
    if (content === undefined) throw new ConfigError(`${file}: there is no such file`);
    return content;
  };
  const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const open = (config = configOf(), proxy?: ProxySettings) =>
    createAuthServer(config, {
      place: { namespace: 'n', name: 'gateway', uid: 'u' },
      resourceUrl: RESOURCE,
      readFile: read,
      readBytes: (file) => Buffer.from(read(file)),
      readSource: ({ socket }) => socket.remoteAddress,
      record: () => undefined,
      answered: () => undefined,
      log: silent,
      proxy,
      sharedLogins: () => [],
      policyReads: () => READS_NOTHING,
      now: () => clock.time,
      random: randomBytes,
    });

  beforeEach(async () => {
    files = { 'key-1': pem(), 'key-2': pem(), 'secret-1': 'a'.repeat(32), 'secret-2': 'b'.repeat(32) };
    clock = { time: Date.now() };
    folder = await mkdtemp(join(tmpdir(), 'vmcp-authserver-'));
    http = createServer((req, res) => {
      const handler = server.route((req.url ?? '/').split('?', 1)[0] ?? '/');
      if (handler) void handler(req, res);
      else res.writeHead(404).end('nothing here');
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    server = await open();
  });
  afterEach(async () => {
    http.closeAllConnections();
    http.close();
    await server.close();
    await rm(folder, { recursive: true });
  });

  const call = async (path: string, form?: Record<string, string>) => {
    const answer = await request(origin + path, {
      method: form ? 'POST' : 'GET',
      ...(form && {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
      }),
    });
    const text = await answer.body.text();
    const isJson = answer.headers['content-type']?.includes('json');
    return { status: answer.statusCode, text, body: (isJson ? JSON.parse(text) : {}) as Record<string, string> };
  };
  /** Stores a finished login directly and returns the tokens for its code. */
  const login = async (config = configOf()) => {
    const storage = await openStorage(config.storage, { now: () => clock.time, readSecret: read });
    const content = Buffer.from(read(config.hmac_secret_files[0] ?? ''));
    const ring = createSecretRing([{ file: 's', content }], { now: () => clock.time, random: randomBytes });
    const [id, client_id] = [newId(), newId()];
    const client = { client_id, client_name: 'app', redirect_uris: [REDIRECT], grant_types: [], scope: undefined };
    const more = { application_type: undefined, registered_at: clock.time };
    await storage.put('client', hashId(client_id), { ...client, ...more }, { lifespan: 30 * 86_400_000 });
    const code_challenge = createHash('sha256').update(VERIFIER).digest('base64url');
    const asked = {
      client_id,
      redirect_uri: REDIRECT,
      state: undefined,
      code_challenge,
      scope: ['mcp'],
      resource: RESOURCE,
    };
    await storage.finishLogin({
      sub: alice.sub,
      links: { okta: LINK },
      lifespan: 3_600_000,
      code: { id: hashId(id), row: { request: asked, user: alice }, lifespan: 600_000 },
    });
    await storage.close();
    const form = { grant_type: 'authorization_code', code: writeCode(ring, id), client_id, code_verifier: VERIFIER };
    return { client_id, ...(await call('/oauth/token', form)).body } as { client_id: string } & Record<
      'access_token' | 'refresh_token',
      string
    >;
  };
  const refresh = (client_id: string, refresh_token: string) =>
    call('/oauth/token', { grant_type: 'refresh_token', client_id, refresh_token });
  const claimsOf = (token: string) => {
    const { sub = '', client_id, tsid } = decodeJwt(token);
    return server.sessions.claimsOf({ subject: sub, clientId: String(client_id), tsid: String(tsid) });
  };

  it('serves its own paths only', async () => {
    expect(server.route('/mcp')).toBeUndefined();
    expect(server.route('/oauth/introspect')).toBeUndefined();
    expect(server.route('/oauth/callback/okta')).toBeDefined();
    expect((await call('/.well-known/oauth-authorization-server')).body.issuer).toBe(ISSUER);
    const page = await call('/oauth/authorize');
    expect(page.status).toBe(400);
    expect(page.text).toMatch(/^<!doctype html>/);
  });

  it('finds the login of a token until it is revoked', async () => {
    const { client_id, access_token, refresh_token } = await login();
    expect(await claimsOf(access_token)).toEqual({ groups: ['dev'] });
    expect(claimsOf(access_token)).toEqual({ groups: ['dev'] });
    await call('/oauth/revoke', { client_id, token: refresh_token });
    expect(await claimsOf(access_token)).toBeUndefined();
  });

  it('applies a changed configuration and keeps all logins', async () => {
    const { client_id, refresh_token, access_token } = await login();
    expect(await claimsOf(access_token)).toBeDefined();
    const { sessions, userTokens } = server;
    files['github-secret'] = 'x';
    await server.update(
      configOf({
        scopes_supported: ['mcp', 'more'],
        upstreams: [OKTA, GITHUB],
        token_lifespans: { access_token_lifespan: '5m' },
        registration: { enabled: false },
      }),
    );
    expect((await refresh(client_id, refresh_token)).body.expires_in).toBe(300);
    expect((await call('/.well-known/oauth-authorization-server')).body.scopes_supported).toEqual(['mcp', 'more']);
    expect(server.route('/oauth/register')).toBeUndefined();
    expect((await server.status()).redirectUris).toEqual({
      okta: `${ISSUER}/oauth/callback/okta`,
      github: `${ISSUER}/oauth/callback/github`,
    });
    // Both boundaries keep these objects.
    expect(server.sessions).toBe(sessions);
    expect(server.userTokens).toBe(userTokens);
    expect(await claimsOf(access_token)).toEqual({ groups: ['dev'] });
  });

  it('sends a proxy no request for a document at a private address', async () => {
    const asked: (string | undefined)[] = [];
    const proxy = createServer().on('connect', (req, socket) => {
      asked.push(req.url);
      socket.destroy();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    await server.close();
    const httpsProxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    server = await open(configOf({ cimd: { enabled: true } }), { httpsProxy });
    const asking = new URLSearchParams({ client_id: 'https://localhost/client.json', redirect_uri: REDIRECT });
    expect(await call(`/oauth/authorize?${asking.toString()}`)).toMatchObject({ status: 400 });
    expect(asked).toEqual([]);
    proxy.close();
  });

  it('applies changed keys and secrets and keeps all logins', async () => {
    const before = await login();
    const both = {
      signing_key_config: { signing_key_file: 'key-2', fallback_key_files: ['key-1'] },
      hmac_secret_files: ['secret-2', 'secret-1'],
    };
    await server.update(configOf(both));
    const { signingKeys, secrets } = await server.status();
    expect(signingKeys.signing).toBe(signingKeys.kids[1]);
    expect(secrets.making).toBe(secrets.kids[1]);
    clock.time += 2 * MINUTE;
    const after = await refresh(before.client_id, before.refresh_token);
    expect(decodeProtectedHeader(String(after.body.access_token)).kid).toBe(signingKeys.kids[0]);
    expect(String(after.body.refresh_token).split('.')[0]).toBe(secrets.kids[0]);
    await server.update(
      configOf({ ...both, signing_key_config: { signing_key_file: 'key-2' }, hmac_secret_files: ['secret-2'] }),
    );
    expect((await refresh(before.client_id, String(after.body.refresh_token))).status).toBe(200);
    expect((await call('/.well-known/jwks.json')).body.keys).toHaveLength(1);
  });

  it('reads changed key files again', async () => {
    const before = server.jwks();
    await server.update(configOf());
    expect(server.jwks()).toBe(before);
    files['key-1'] = pem();
    await server.update(configOf());
    expect(server.jwks().keys[0]?.kid).not.toBe(before.keys[0]?.kid);
  });

  it.each([
    ['memory', { type: 'memory' }, false],
    ['SQLite', undefined, false],
    ['Redis', { type: 'redis', redis: { addr: '127.0.0.1:1', key_prefix: 'vmcp:n/gateway:' } }, true],
  ])('expects keys of other replicas after a start and a reload only with shared storage: %s', async (...row) => {
    const [, other, shared] = row;
    const storage = other ?? configOf().storage;
    const apart = await open(configOf({ storage }));
    expect(apart.keysMayCome()).toBe(shared);
    clock.time += 2 * MINUTE;
    expect(apart.keysMayCome()).toBe(false);
    files['key-1'] = pem();
    await apart.update(configOf({ storage }));
    expect(apart.keysMayCome()).toBe(shared);
    await apart.close();
  });

  it.each([
    ['a key that cannot be read', { signing_key_config: { signing_key_file: 'bad' } }],
    ['a key that is not there', { signing_key_config: { signing_key_file: 'none' } }],
    ['a secret that is too short', { signing_key_config: { signing_key_file: 'key-2' }, hmac_secret_files: ['bad'] }],
    [
      'an introspection secret that is not there',
      { introspection_clients: [{ client_id: 'c', client_secret_file: 'none' }] },
    ],
    ['a storage that cannot be opened', { storage: { type: 'sqlite', file: '/dev/null/store' } }],
  ])('keeps its configuration when an update has %s', async (_name, change) => {
    files.bad = 'short';
    const { client_id, refresh_token } = await login();
    const [jwks, status] = [server.jwks(), await server.status()];
    await expect(server.update(configOf({ ...change, scopes_supported: ['other'] }))).rejects.toThrow(ConfigError);
    expect(server.jwks()).toBe(jwks);
    expect((await server.status()).secrets).toEqual(status.secrets);
    expect((await call('/.well-known/oauth-authorization-server')).body.scopes_supported).toEqual([
      'mcp',
      'offline_access',
    ]);
    expect((await refresh(client_id, refresh_token)).status).toBe(200);
    await expect(open(configOf(change))).rejects.toThrow(ConfigError);
  });

  it('moves to another storage and leaves the logins in the former one', async () => {
    const { client_id, refresh_token, access_token } = await login();
    const elsewhere = configOf({ storage: { type: 'sqlite', file: join(folder, 'other.sqlite') } });
    await server.update(elsewhere);
    expect(await claimsOf(access_token)).toBeUndefined();
    expect((await refresh(client_id, refresh_token)).body.error).toBe('invalid_client');
    const other = await login(elsewhere);
    expect(await claimsOf(other.access_token)).toBeDefined();
    await server.update(configOf());
    expect((await refresh(client_id, refresh_token)).status).toBe(200);
  });

  it('issues no tokens for a former URL of the endpoint', async () => {
    const { client_id, refresh_token } = await login();
    await server.update(configOf({ allowed_audiences: ['https://mcp.example.com/mcp'] }));
    expect((await refresh(client_id, refresh_token)).body.error).toBe('invalid_grant');
  });

  it('reports the current keys and secrets, and the rows that need the secrets', async () => {
    await login();
    const status = await server.status();
    const [secret = ''] = status.secrets.kids;
    expect(status).toMatchObject({
      storage: 'sqlite',
      signingKeys: { kids: [server.jwks().keys[0]?.kid], ephemeral: false },
      secrets: { making: secret, ephemeral: false },
      secretsInUse: { [secret]: 1, k: 1 },
      sizes: { clients: 1, logins: 0, sessions: 1, links: 1 },
      unacknowledged: 0,
    });
    expect(server.warnings).toEqual([]);
  });

  it('counts its rows at most every 30 s', async () => {
    expect((await server.status()).sizes?.sessions).toBe(0);
    await login();
    expect((await server.status()).sizes?.sessions).toBe(0);
    clock.time += 30_000;
    expect((await server.status()).sizes?.sessions).toBe(1);
  });

  it('reports its status without counts while the storage does not answer', async () => {
    const addr = `127.0.0.1:${await findFreePort()}`;
    const apart = await open(configOf({ storage: { type: 'redis', redis: { addr, key_prefix: 'vmcp:n/gateway:' } } }));
    expect(await apart.status()).toMatchObject({ storage: 'redis', sizes: undefined, secretsInUse: undefined });
    await apart.close();
  });

  it('warns once of registrations through an untrusted proxy, in log and status', async () => {
    const warn = jest.spyOn(silent, 'warn');
    const register = (forwarded: string) =>
      request(`${origin}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': forwarded },
        body: JSON.stringify({ redirect_uris: [REDIRECT] }),
      });
    expect(server.warnings).toEqual([]);
    for (const address of ['203.0.113.1', '203.0.113.2']) expect((await register(address)).statusCode).toBe(201);
    expect(server.warnings).toEqual([expect.stringContaining('Set trustedProxies')]);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('Set trustedProxies')]]);
  });

  it.each([
    ['an empty secret', '', /^provider github is out of service until .*: github-secret is empty$/],
    ['a missing secret', undefined, /client_secret_file: github-secret: there is no such file$/],
  ])('serves without a provider that has %s, until it is fixed', async (_title, content, reason) => {
    const { client_id, refresh_token } = await login();
    if (content !== undefined) files['github-secret'] = content;
    await server.update(configOf({ upstreams: [OKTA, GITHUB] }));
    expect(server.warnings).toEqual([expect.stringMatching(reason)]);
    expect((await refresh(client_id, refresh_token)).status).toBe(200);
    files['github-secret'] = 'secret';
    await server.update(configOf({ upstreams: [OKTA, GITHUB] }));
    expect(server.warnings).toEqual([]);
  });

  it('serves without a provider whose bundle has no authorities', async () => {
    files['github-secret'] = 'secret';
    files.ca = '';
    await server.update(configOf({ upstreams: [OKTA, { ...GITHUB, ca_bundle_file: 'ca' }] }));
    expect(server.warnings).toEqual([expect.stringMatching(/^provider github is out of service .*: ca has no cert/)]);
  });

  it('keeps a provider with its former settings while a file of the new ones is missing', async () => {
    files['github-secret'] = 'secret';
    await server.update(configOf({ upstreams: [OKTA, GITHUB] }));
    const next = { ...GITHUB, oauth2_config: { ...GITHUB.oauth2_config, client_secret_file: 'next' } };
    await server.update(configOf({ upstreams: [OKTA, next] }));
    expect(server.warnings).toEqual([expect.stringMatching(/^provider github keeps its former settings/)]);
    files.next = 'secret';
    await server.update(configOf({ upstreams: [OKTA, next] }));
    expect(server.warnings).toEqual([]);
  });

  it('disables a provider when a file is missing and other settings changed too', async () => {
    files['github-secret'] = 'secret';
    await server.update(configOf({ upstreams: [OKTA, GITHUB] }));
    const config = {
      ...GITHUB.oauth2_config,
      client_secret_file: 'next',
      token_endpoint: 'https://other.example/token',
    };
    await server.update(configOf({ upstreams: [OKTA, { ...GITHUB, oauth2_config: config }] }));
    expect(server.warnings).toEqual([expect.stringMatching(/^provider github is out of service .*next: there is no/)]);
  });

  it('disables a provider that the document marks, unless its former settings are the same', async () => {
    const config = { ...GITHUB.oauth2_config, client_secret_file: undefined };
    const marked = { ...GITHUB, oauth2_config: config, out_of_service: 'its Secret does not exist' };
    await server.update(configOf({ upstreams: [OKTA, marked] }));
    expect(server.warnings).toEqual([
      'provider github is out of service until its configuration is mended: its Secret does not exist',
    ]);
    files['github-secret'] = 'secret';
    await server.update(configOf({ upstreams: [OKTA, GITHUB] }));
    expect(server.warnings).toEqual([]);
    await server.update(configOf({ upstreams: [OKTA, marked] }));
    expect(server.warnings).toEqual([
      'provider github keeps its former settings until this is mended: its Secret does not exist',
    ]);
    await server.update(configOf({ upstreams: [OKTA, GITHUB] }));
    expect(server.warnings).toEqual([]);
  });

  it('rejects logins at a disabled primary provider, and serves users who have logged in', async () => {
    const { client_id, access_token, refresh_token } = await login();
    await server.close();
    server = await open(configOf({ upstreams: [{ ...OKTA, out_of_service: 'its Secret does not exist' }] }));
    expect(await claimsOf(access_token)).toEqual({ groups: ['dev'] });
    expect((await refresh(client_id, refresh_token)).status).toBe(200);
  });

  it('warns of keys and secrets that are lost with the process', async () => {
    const lost = await open(
      configOf({ signing_key_config: undefined, hmac_secret_files: [], storage: { type: 'memory' } }),
    );
    expect(lost.warnings).toHaveLength(2);
    expect((await lost.status()).signingKeys.ephemeral).toBe(true);
    expect(lost.keysMayCome()).toBe(false);
    await lost.close();
  });
});
