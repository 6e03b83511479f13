import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeJwt, UnsecuredJWT } from 'jose';
import { BackendAuth } from '#crds/run-config/outgoing';
import { ConfigError, RequestError } from '#runtime/errors';
import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { fakeUserTokens, type FakeUserTokens } from '#runtime/authserver/upstream-tokens/testdata/fake-user-tokens';
import { caller } from '#runtime/authserver/upstream-tokens/testdata/setup';
import { createCredential } from './create-credential.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential, CredentialHeaders } from './credential.ts';
import { ExchangedTokens } from './exchanged-tokens.ts';

const URN = 'urn:ietf:params:oauth:token-type:';
const START = Date.UTC(2030, 0, 1);
const [AUDIENCE, RESOURCE] = ['https://auth.chat.example', 'https://chat.example/mcp'];
const alice = caller('alice');
/** Secrets with characters that Basic credentials must encode. */
const SECRETS: Readonly<Record<string, string>> = { '/s/idp': 'i+d:p', '/s/target': 't+ä' };

interface Received {
  readonly path: string;
  readonly form: URLSearchParams;
  readonly authorization: string | undefined;
}
type Reply = (res: ServerResponse) => void;

let server: Server;
let origin: string;
let received: Received[];
let replies: Record<string, Reply>;
let userTokens: FakeUserTokens;
let exchanged: ExchangedTokens;
let clock: number;
let logged: string;
let opened: Credential[];

const json = (res: ServerResponse, status: number, body: unknown) =>
  void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const idToken = (more: object = {}) =>
  new UnsecuredJWT({ iss: 'https://idp.example', sub: 'alice', exp: START / 1000 + 3_600, ...more }).encode();
const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
/** Builds an assertion, whose signature only the target verifies. */
const idJag = (claims: object = {}, typ: unknown = 'oauth-id-jag+jwt') => {
  const usual = { aud: AUDIENCE, resource: RESOURCE, jti: String(received.length), exp: START / 1000 + 100_000 };
  return `${encoded({ alg: 'ES256', typ })}.${encoded({ ...usual, ...claims })}.c2ln`;
};
const assert = (res: ServerResponse, members: Record<string, unknown> = {}) =>
  json(res, 200, { access_token: idJag(), issued_token_type: `${URN}id-jag`, token_type: 'N_A', ...members });
const issue = (res: ServerResponse, members: Record<string, unknown> = {}) =>
  json(res, 200, {
    access_token: `of-chat-${sentTo('/target').length}`,
    token_type: 'Bearer',
    expires_in: 300,
    ...members,
  });
const sentTo = (path: string) => received.filter((one) => one.path === path);

beforeEach(async () => {
  [received, opened, logged, clock] = [[], [], '', START];
  replies = { '/idp': (res) => assert(res), '/target': (res) => issue(res) };
  exchanged = new ExchangedTokens({ now: () => clock });
  userTokens = fakeUserTokens();
  userTokens.link('alice', 'okta', 'okta-of-alice', { idToken: idToken() });
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += String(chunk)));
    req.on('end', () => {
      const path = req.url ?? '';
      received.push({ path, form: new URLSearchParams(body), authorization: req.headers.authorization });
      replies[path]?.(res);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  for (const credential of opened) credential.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function open(document: object = {}, deps: Partial<CredentialDeps> = {}): Credential {
  const log = (message: string, fields?: Record<string, unknown>) => {
    const { error } = fields ?? {};
    logged += `${message} ${JSON.stringify(fields)} ${error instanceof Error ? String(error.cause) : ''}\n`;
  };
  const auth = {
    type: 'xaa',
    idp_token_url: `${origin}/idp`,
    idp_client_id: 'vmcp',
    idp_client_secret_file: '/s/idp',
    target_token_url: `${origin}/target`,
    target_client_id: 'vmcp-at-chat',
    target_client_secret_file: '/s/target',
    target_audience: AUDIENCE,
    target_resource: RESOURCE,
    scopes: ['chat.read', 'chat.write'],
    subject_provider_name: 'okta',
    ...document,
  };
  const credential = createCredential(BackendAuth.parse(auth), {
    backend: 'chat',
    readSecret: (file) => SECRETS[file] ?? '',
    exchanged,
    now: () => clock,
    log: { debug: log, info: log, warn: log, error: log },
    userTokens,
    ...deps,
  });
  opened.push(credential);
  return credential;
}

const headersOf = async (credential: Credential, identity = alice): Promise<CredentialHeaders> =>
  credential.headersFor(identity);

async function failureOf(credential: Credential): Promise<RequestError> {
  const error: unknown = await headersOf(credential).catch((reason: unknown) => reason);
  if (error instanceof RequestError) return error;
  throw new Error('no failure', { cause: error });
}

describe('xaa', () => {
  it('exchanges the stored ID token for an ID-JAG, and redeems that at the target', async () => {
    const credential = open();
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer of-chat-1']);
    const [idp, target] = received;
    expect(Object.fromEntries(idp!.form)).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: `${URN}id-jag`,
      audience: AUDIENCE,
      resource: RESOURCE,
      scope: 'chat.read chat.write',
      subject_token: idToken(),
      subject_token_type: `${URN}id_token`,
    });
    expect(Object.fromEntries(target!.form)).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: expect.stringMatching(/^eyJ/),
      resource: RESOURCE,
      scope: 'chat.read chat.write',
    });
    expect(credential).toMatchObject({ authType: 'xaa', perUser: true, login: { provider: 'okta' } });
  });

  it('authenticates as one client at each endpoint, in form-encoded Basic credentials', async () => {
    await headersOf(open());
    const pairs = received.map(({ authorization = '' }) => Buffer.from(authorization.slice(6), 'base64').toString());
    expect(pairs).toEqual(['vmcp:i%2Bd%3Ap', 'vmcp-at-chat:t%2B%C3%A4']);
  });

  it('sends the secret in the body where the identity provider refuses Basic credentials', async () => {
    replies['/idp'] = (res) =>
      sentTo('/idp').at(-1)!.form.has('client_secret') ? assert(res) : json(res, 401, { error: 'invalid_client' });
    await headersOf(open());
    expect(Object.fromEntries(received[1]!.form)).toMatchObject({ client_id: 'vmcp', client_secret: 'i+d:p' });
    expect(received[1]!.authorization).toBeUndefined();
  });

  it('names public clients in the body', async () => {
    await headersOf(open({ idp_client_secret_file: undefined, target_client_secret_file: undefined }));
    expect(received.map(({ form, authorization }) => [form.get('client_id'), authorization])).toEqual([
      ['vmcp', undefined],
      ['vmcp-at-chat', undefined],
    ]);
  });

  it('sends neither resource nor scope if none is configured', async () => {
    replies['/idp'] = (res) => assert(res, { access_token: idJag({ resource: undefined }), scope: 'anything' });
    await headersOf(open({ target_resource: undefined, scopes: [] }));
    for (const { form } of received) expect([form.has('resource'), form.has('scope')]).toEqual([false, false]);
  });

  it('asks the target only for the scopes that the identity provider granted', async () => {
    replies['/idp'] = (res) => assert(res, { scope: 'chat.read' });
    await headersOf(open());
    expect(sentTo('/target')[0]!.form.get('scope')).toBe('chat.read');
  });

  it('accepts an ID-JAG that names no resource, or several', async () => {
    for (const resource of [undefined, ['https://other.example', RESOURCE]]) {
      exchanged = new ExchangedTokens({ now: () => clock });
      replies['/idp'] = (res) => assert(res, { access_token: idJag({ resource }) });
      await headersOf(open());
    }
    expect(sentTo('/target')).toHaveLength(2);
  });

  it('makes eight calls at once share one redemption, and later calls none', async () => {
    const credential = open();
    const all = await Promise.all(Array.from({ length: 8 }, () => headersOf(credential)));
    expect(new Set(all.map(([, value]) => value))).toEqual(new Set(['Bearer of-chat-1']));
    expect(credential.headersFor(alice)).toEqual(['authorization', 'Bearer of-chat-1']);
    expect(received).toHaveLength(2);
  });

  it('renews before the end of the token, with a fresh assertion', async () => {
    const credential = open();
    await headersOf(credential);
    clock = START + 245_000;
    await headersOf(credential);
    for (let wait = 0; wait < 1_000 && sentTo('/target').length < 2; wait++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const [first, second] = sentTo('/target').map(({ form }) => decodeJwt(form.get('assertion') ?? '').jti);
    expect(second).not.toBe(first);
    expect(sentTo('/idp')).toHaveLength(2);
  });

  it('redeems a fresh assertion after a 401 of the backend, and then requires a login at the provider', async () => {
    const credential = open();
    const first = await headersOf(credential);
    expect(credential.invalidate(alice, first)).toBe(true);
    const second = await headersOf(credential);
    expect(second).toEqual(['authorization', 'Bearer of-chat-2']);
    expect(credential.login!.refused(alice, second)).toBeInstanceOf(LoginNeeded);
    expect(userTokens.bars).toEqual(['alice|okta|okta-of-alice']);
  });

  it('keeps the token over a renewal of the stored tokens', async () => {
    const credential = open();
    const first = await headersOf(credential);
    userTokens.link('alice', 'okta', 'okta-of-alice-2', { idToken: idToken({ iat: 1 }) });
    expect(await headersOf(credential)).toBe(first);
    expect(received).toHaveLength(2);
  });

  it('never shares a token between users, nor between accounts that a user links one after the other', async () => {
    const credential = open();
    await headersOf(credential);
    userTokens.link('bob', 'okta', 'okta-of-alice', { idToken: idToken() });
    expect(await headersOf(credential, caller('bob'))).toEqual(['authorization', 'Bearer of-chat-2']);
    userTokens.link('alice', 'okta', 'another', { idToken: idToken({ sub: 'alice-at-home' }) });
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer of-chat-3']);
  });

  it('finds no token for a user who has unlinked the account', async () => {
    const credential = open();
    await headersOf(credential);
    userTokens.unlink('alice', 'okta');
    await expect(headersOf(credential)).rejects.toThrow(LoginNeeded);
  });
});

describe('the ID token of xaa', () => {
  it('renews an expired ID token first, whatever the end of the access token', async () => {
    const next = { idToken: idToken({ exp: START / 1000 + 5 }), nextIdToken: idToken({ jti: 'new' }) };
    userTokens.link('alice', 'okta', 'okta-of-alice', next);
    const credential = open();
    expect(await credential.login!.isReady(alice)).toBe(true);
    await headersOf(credential);
    expect(userTokens.renewals).toEqual(['okta-of-alice']);
    expect(sentTo('/idp')[0]!.form.get('subject_token')).toBe(next.nextIdToken);
  });

  it('makes the user log in again if a renewal keeps the old one, without a renewal for each call', async () => {
    userTokens.link('alice', 'okta', 'okta-of-alice', { idToken: idToken({ exp: START / 1000 - 1 }) });
    const credential = open();
    for (let calls = 0; calls < 3; calls++) await expect(headersOf(credential)).rejects.toThrow(LoginNeeded);
    expect(await credential.login!.isReady(alice)).toBe(false);
    expect(userTokens.renewals).toEqual(['okta-of-alice']);
    expect(userTokens.bars).toEqual([]);
    userTokens.link('alice', 'okta', 'okta-of-alice-2', { idToken: idToken() });
    expect(await credential.login!.isReady(alice)).toBe(true);
    await headersOf(credential);
  });

  it('reports that the provider issued no ID token', async () => {
    userTokens.link('alice', 'okta', 'okta-of-alice');
    expect((await failureOf(open())).answer).toMatchObject({ status: 200, code: 'token_exchange_no_id_token' });
    expect(received).toHaveLength(0);
  });
});

const signed = (claims: object, typ?: unknown) => (res: ServerResponse) =>
  assert(res, { access_token: idJag(claims, typ) });
const refuse = (status: number, error: string) => (res: ServerResponse) =>
  json(res, status, { error, error_description: 'secret-detail' });

describe('failures of xaa', () => {
  it.each<[string, string, Reply]>([
    ['an access token', 'invalid', (res) => assert(res, { issued_token_type: `${URN}access_token` })],
    ['a bearer token', 'invalid', (res) => assert(res, { token_type: 'Bearer' })],
    ['the ID token itself', 'invalid', (res) => assert(res, { access_token: idToken() })],
    ['an opaque token', 'invalid', (res) => assert(res, { access_token: 'opaque' })],
    ['another typ', 'invalid', signed({}, 'at+jwt')],
    ['a typ that is no text', 'invalid', signed({}, 7)],
    ['a header that is no JSON', 'invalid', (res) => assert(res, { access_token: idJag().replace(/^[^.]+/, 'e30x') })],
    ['another audience', 'invalid', signed({ aud: 'https://evil.example' })],
    ['the audience with a slash', 'invalid', signed({ aud: `${AUDIENCE}/` })],
    ['several audiences', 'invalid', signed({ aud: [AUDIENCE, 'https://evil.example'] })],
    ['no audience', 'invalid', signed({ aud: undefined })],
    ['another resource', 'invalid', signed({ resource: 'https://evil.example/mcp' })],
    ['an expired assertion', 'invalid', signed({ exp: START / 1000 - 1 })],
    ['a wider scope', 'invalid', (res) => assert(res, { scope: 'chat.read admin' })],
    ['100 kB', 'invalid', (res) => assert(res, { padding: 'x'.repeat(100_000) })],
    ['a redirect', 'invalid', (res) => void res.writeHead(307, { location: 'http://169.254.169.254/' }).end()],
    ['HTML', 'invalid', (res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<h1>')],
    ['a failure', 'unavailable', refuse(500, 'server_error')],
    ['invalid_grant', 'refused', refuse(400, 'invalid_grant')],
    ['invalid_target', 'refused', refuse(400, 'invalid_target')],
    ['invalid_client', 'misconfigured', refuse(401, 'invalid_client')],
  ])('maps %s of the identity provider to token_exchange_%s, and asks no target', async (_case, code, reply) => {
    replies['/idp'] = reply;
    const error = await failureOf(open());
    expect(error.answer).toMatchObject({ status: 200, code: `token_exchange_${code}` });
    expect(error.answer.text).toContain('backend chat');
    expect(sentTo('/target')).toHaveLength(0);
    expect(logged + JSON.stringify(error.answer)).not.toMatch(/eyJ|secret-detail|okta-of-alice/);
    replies['/idp'] = (res) => assert(res);
    expect(await headersOf(opened[0]!)).toEqual(['authorization', 'Bearer of-chat-1']);
  });

  it.each<[string, string, Reply]>([
    [
      'the assertion itself',
      'invalid',
      (res) => issue(res, { access_token: sentTo('/target')[0]!.form.get('assertion') }),
    ],
    ['another token type', 'invalid', (res) => issue(res, { token_type: 'DPoP' })],
    ['a wider scope', 'invalid', (res) => issue(res, { scope: 'chat.read admin' })],
    ['100 kB', 'invalid', (res) => issue(res, { padding: 'x'.repeat(100_000) })],
    ['a redirect', 'invalid', (res) => void res.writeHead(308, { location: '/idp' }).end()],
    ['invalid_grant', 'refused', refuse(400, 'invalid_grant')],
    ['unauthorized_client', 'misconfigured', refuse(400, 'unauthorized_client')],
    ['a failure', 'unavailable', refuse(503, 'temporarily_unavailable')],
  ])('maps %s of the target to token_exchange_%s, and caches nothing', async (_case, code, reply) => {
    replies['/target'] = reply;
    const error = await failureOf(open());
    expect(error.answer).toMatchObject({ status: 200, code: `token_exchange_${code}` });
    expect(logged + JSON.stringify(error.answer)).not.toMatch(/eyJ|secret-detail|of-chat/);
    expect(exchanged.size).toBe(0);
    replies['/target'] = (res) => issue(res);
    expect(await headersOf(opened[0]!)).toEqual(['authorization', 'Bearer of-chat-2']);
    expect(sentTo('/idp')).toHaveLength(2);
  });

  it.each(['/idp', '/target'])('stops at the deadline when %s hangs', async (path) => {
    replies[path] = (res) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{');
    expect((await failureOf(open({}, { exchangeDeadline: 100 }))).answer.code).toBe('token_exchange_timeout');
  });

  it('never sends an assertion twice, if the connection breaks before an answer', async () => {
    replies['/target'] = (res) => void res.socket?.destroy();
    expect((await failureOf(open())).answer.code).toBe('token_exchange_unavailable');
    expect(sentTo('/target')).toHaveLength(1);
  });
});

describe('configuration of xaa', () => {
  it.each<[string, object, RegExp]>([
    ['an empty secret at the identity provider', { idp_client_secret_file: '/s/empty' }, /\/s\/empty is empty/],
    ['an empty secret at the target', { target_client_secret_file: '/s/empty' }, /\/s\/empty is empty/],
    ['a bundle without authorities', { ca_bundle_file: '/s/empty' }, /\/s\/empty has no certificate/],
  ])('refuses %s', (_case, document, message) => {
    expect(() => open(document)).toThrow(message);
  });

  it('refuses to work without an authorization server', () => {
    expect(() => open({}, { userTokens: undefined })).toThrow(ConfigError);
  });
});
