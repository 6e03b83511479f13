import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { UnsecuredJWT } from 'jose';
import { type BackendAuth, BackendAuth as BackendAuthSchema } from '#crds/run-config/outgoing';
import { ConfigError, RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import { createCredential } from './create-credential.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential, CredentialHeaders } from './credential.ts';
import { ExchangedTokens } from './exchanged-tokens.ts';

const URN = 'urn:ietf:params:oauth:token-type:';
const START = Date.UTC(2030, 0, 1);

interface Received {
  readonly form: URLSearchParams;
  readonly authorization: string | undefined;
}
type Reply = (res: ServerResponse, received: Received, count: number) => void;

let server: Server;
let tokenUrl: string;
let received: Received[];
let reply: Reply;
let clock: number;
let logged: string[];
let outcomes: string[];
let secrets: Record<string, string>;
const AUTHORITY = readFileSync(new URL('../incoming/testdata/loopback-cert.pem', import.meta.url), 'utf8');
let opened: Credential[];
let exchanged: ExchangedTokens;

const json = (res: ServerResponse, status: number, body: unknown, type = 'application/json') =>
  res.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));
const issue = (res: ServerResponse, members: Record<string, unknown> = {}) =>
  json(res, 200, {
    access_token: `exchanged-${received.length}`,
    issued_token_type: `${URN}access_token`,
    token_type: 'Bearer',
    expires_in: 3600,
    ...members,
  });

async function take(req: IncomingMessage, res: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of req) body += String(chunk);
  const call = { form: new URLSearchParams(body), authorization: req.headers.authorization };
  received.push(call);
  reply(res, call, received.length);
}

beforeEach(async () => {
  [received, logged, outcomes, opened, secrets] = [[], [], [], [], { '/s/client': 'p:ss wörd' }];
  clock = START;
  reply = (res) => issue(res);
  exchanged = new ExchangedTokens({ now: () => clock });
  server = createServer((req, res) => void take(req, res)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
});
afterEach(async () => {
  for (const credential of opened) credential.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const write = (level: string) => (message: string, fields?: Record<string, unknown>) => {
  const error = fields?.error;
  const causes = error instanceof Error ? `${error.message} <- ${String(error.cause)}` : '';
  logged.push(`${level} ${message} ${JSON.stringify(fields)} ${causes}`);
};

function open(
  auth: Partial<Extract<BackendAuth, { type: 'token_exchange' }>> = {},
  deps: Partial<CredentialDeps> = {},
) {
  const document = { type: 'token_exchange', token_url: tokenUrl, audience: 'backend-a', ...auth };
  const credential = createCredential(BackendAuthSchema.parse(document), {
    backend: 'files',
    readSecret: (file) => secrets[file] ?? '',
    exchanged,
    now: () => clock,
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    count: (outcome) => outcomes.push(outcome),
    ...deps,
  });
  opened.push(credential);
  return credential;
}

function caller(token: string | undefined = 'alice-token', expiresAt = START + 8 * 3_600_000): Identity {
  return {
    issuer: 'i',
    subject: 's',
    clientId: undefined,
    scopes: [],
    groups: [],
    claims: {},
    key: 'i s',
    token,
    expiresAt,
  };
}

async function failure(result: () => CredentialHeaders | Promise<CredentialHeaders>): Promise<RequestError> {
  try {
    await result();
  } catch (error) {
    if (error instanceof RequestError) return error;
    throw error;
  }
  throw new Error('no failure');
}

describe('tokenExchange', () => {
  it('sends the request of RFC 8693 and puts the issued token, not the caller’s, into Authorization', async () => {
    const credential = open({ scopes: ['read', 'write'] });
    expect(await credential.headersFor(caller())).toEqual(['authorization', 'Bearer exchanged-1']);
    expect(Object.fromEntries(received[0]!.form)).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'alice-token',
      subject_token_type: `${URN}access_token`,
      requested_token_type: `${URN}access_token`,
      audience: 'backend-a',
      scope: 'read write',
    });
    expect(received[0]!.authorization).toBeUndefined();
    expect(credential).toMatchObject({ authType: 'tokenExchange', perUser: true });
  });

  it('authenticates a confidential client with form-encoded Basic credentials', async () => {
    await open({ client_id: 'vm:cp', client_secret_file: '/s/client' }).headersFor(caller());
    const pair = Buffer.from(received[0]!.authorization!.replace('Basic ', ''), 'base64').toString();
    expect(pair).toBe('vm%3Acp:p%3Ass+w%C3%B6rd');
    expect(received[0]!.form.has('client_id')).toBe(false);
  });

  it('sends the id of a public client in the body', async () => {
    await open({ client_id: 'public' }).headersFor(caller());
    expect(received[0]!.form.get('client_id')).toBe('public');
    expect(received[0]!.authorization).toBeUndefined();
  });

  it.each([
    ['id_token', `${URN}id_token`],
    [`${URN}jwt`, `${URN}jwt`],
  ])('sends subject token type %s as %s', async (configured, sent) => {
    await open({ subject_token_type: configured }).headersFor(caller());
    expect(received[0]!.form.get('subject_token_type')).toBe(sent);
  });

  it('puts the token into the configured header instead of Authorization', async () => {
    const headers = await open({ external_token_header_name: 'X-Upstream-Token' }).headersFor(caller());
    expect(headers).toEqual(['x-upstream-token', 'Bearer exchanged-1']);
  });

  it('answers synchronously if the token is cached', async () => {
    const credential = open();
    await credential.headersFor(caller());
    expect(credential.headersFor(caller())).toEqual(['authorization', 'Bearer exchanged-1']);
    expect(received).toHaveLength(1);
    expect(outcomes).toEqual(['exchanged', 'hit']);
  });

  it('never sends one caller’s token for another', async () => {
    const credential = open();
    const [alice, bob] = await Promise.all(['a', 'b'].map(async (user) => credential.headersFor(caller(user))));
    expect(alice).not.toEqual(bob);
    expect(credential.headersFor(caller('a'))).toEqual(alice);
    expect(credential.headersFor(caller('b'))).toEqual(bob);
  });

  it('separates tokens of backends with different settings and shares those of equal ones', async () => {
    const one = await open().headersFor(caller());
    expect(await open({ audience: 'backend-b' }).headersFor(caller())).not.toEqual(one);
    expect(await open({ scopes: ['read'] }).headersFor(caller())).not.toEqual(one);
    expect(open({}, { backend: 'copy' }).headersFor(caller())).toEqual(one);
  });

  it('exchanges again after a change of the client secret', async () => {
    const credential = open({ client_id: 'c', client_secret_file: '/s/client' });
    const identity = caller();
    await credential.headersFor(identity);
    secrets['/s/client'] = 'rotated';
    expect(await credential.headersFor(identity)).toEqual(['authorization', 'Bearer exchanged-2']);
    expect(Buffer.from(received[1]!.authorization!.slice(6), 'base64').toString()).toBe('c:rotated');
  });

  it.each([
    ['client secret', '/s/client'],
    ['authorities', '/s/ca'],
  ])('keeps the former %s if the file contains none, and reports it once', async (_what, file) => {
    secrets['/s/ca'] = AUTHORITY;
    const credential = open({ client_id: 'c', client_secret_file: '/s/client', ca_bundle_file: '/s/ca' });
    secrets[file] = '';
    for (const token of ['one', 'two']) await credential.headersFor(caller(token));
    expect(Buffer.from(received[1]!.authorization!.slice(6), 'base64').toString()).toMatch(/^c:.+/);
    expect(logged.filter((line) => line.includes('the former stay'))).toHaveLength(1);
  });

  it('runs one exchange for sixty parallel calls', async () => {
    const credential = open();
    const all = await Promise.all(Array.from({ length: 60 }, async () => credential.headersFor(caller())));
    expect(received).toHaveLength(1);
    expect(new Set(all.map((headers) => headers[1]))).toEqual(new Set(['Bearer exchanged-1']));
  });

  it('refreshes in the background shortly before expiry and uses the present token meanwhile', async () => {
    const credential = open();
    const identity = caller();
    await credential.headersFor(identity);
    clock = START + 3_600_000 - 59_000;
    expect(credential.headersFor(identity)).toEqual(['authorization', 'Bearer exchanged-1']);
    await waitFor(() => exchanged.size === 1 && outcomes.filter((outcome) => outcome === 'exchanged').length === 2);
    expect(credential.headersFor(identity)).toEqual(['authorization', 'Bearer exchanged-2']);
  });

  it('uses the present token while a refresh fails, and does not retry for every call', async () => {
    const credential = open();
    const identity = caller();
    await credential.headersFor(identity);
    reply = (res) => json(res, 503, 'down');
    clock = START + 3_600_000 - 59_000;
    for (let call = 0; call < 10; call++)
      expect(credential.headersFor(identity)).toEqual(['authorization', 'Bearer exchanged-1']);
    await waitFor(() => outcomes.includes('failed'));
    expect(received).toHaveLength(2);
  });

  it('never uses a token past its expiry', async () => {
    const credential = open();
    const identity = caller();
    await credential.headersFor(identity);
    clock = START + 3_600_000;
    expect(await credential.headersFor(identity)).toEqual(['authorization', 'Bearer exchanged-2']);
  });

  it('never uses a token past the expiry of the caller’s own token', async () => {
    const credential = open();
    const identity = caller('short', START + 60_000);
    await credential.headersFor(identity);
    clock = START + 60_000;
    expect((await failure(() => credential.headersFor(identity))).answer.code).toBe('token_exchange_no_subject');
    expect(received).toHaveLength(1);
  });

  it('uses the earlier of expires_in and the exp of an issued JWT', async () => {
    const jwt = new UnsecuredJWT({ aud: 'backend-a' }).setExpirationTime(START / 1000 + 100).encode();
    reply = (res) => issue(res, { access_token: jwt });
    const credential = open();
    const identity = caller();
    await credential.headersFor(identity);
    clock = START + 100_000;
    await failure(() => credential.headersFor(identity));
    expect(received).toHaveLength(2);
  });

  it('exchanges once more after a backend’s 401, regardless of the number of refused calls', async () => {
    const credential = open();
    const identity = caller();
    const refused = await credential.headersFor(identity);
    expect(credential.invalidate(identity, refused)).toBe(true);
    await credential.headersFor(identity);
    expect(credential.invalidate(identity, refused)).toBe(true);
    expect(credential.headersFor(identity)).toEqual(['authorization', 'Bearer exchanged-2']);
  });

  it('refuses an anonymous caller without a call to the token endpoint', async () => {
    const error = await failure(() => open().headersFor({ ...caller(), token: undefined }));
    expect(error.answer).toMatchObject({ code: 'token_exchange_no_subject', rpc: { code: -32603 } });
    expect(received).toHaveLength(0);
  });

  it('caches no more tokens than its limit', async () => {
    exchanged = new ExchangedTokens({ now: () => clock, maxTokens: 3 });
    const credential = open();
    for (let user = 0; user < 10; user++) await credential.headersFor(caller(`user-${user}`));
    expect(exchanged.size).toBe(3);
  });

  it('refuses more concurrent exchanges than its limit', async () => {
    exchanged = new ExchangedTokens({ now: () => clock, maxFlights: 1 });
    const credential = open();
    const first = credential.headersFor(caller('one'));
    expect((await failure(() => credential.headersFor(caller('two')))).answer.code).toBe('token_exchange_busy');
    await first;
    await credential.headersFor(caller('two'));
  });
});

describe('failures of a token exchange', () => {
  const jwtFor = (claims: Record<string, unknown>) => new UnsecuredJWT(claims).encode();
  it.each<[string, string, Reply]>([
    ['an error of the server', 'unavailable', (res) => json(res, 500, 'oops')],
    ['too many requests', 'unavailable', (res) => json(res, 429, {})],
    ['HTML', 'invalid', (res) => json(res, 200, '<html>log in</html>', 'text/html')],
    ['HTML with a failure status', 'invalid', (res) => json(res, 404, '<html>', 'text/html')],
    ['a redirect', 'invalid', (res) => res.writeHead(307, { location: '/elsewhere' }).end()],
    ['no token', 'invalid', (res) => issue(res, { access_token: '' })],
    ['a token with a line break', 'invalid', (res) => issue(res, { access_token: 'a\r\nx: y' })],
    ['the caller’s own token', 'invalid', (res) => issue(res, { access_token: 'alice-token' })],
    ['another token type', 'invalid', (res) => issue(res, { token_type: 'DPoP' })],
    ['no issued_token_type', 'invalid', (res) => issue(res, { issued_token_type: undefined })],
    ['a refresh token', 'invalid', (res) => issue(res, { issued_token_type: `${URN}refresh_token` })],
    ['a wider scope', 'invalid', (res) => issue(res, { scope: 'read admin' })],
    [
      'a wider scope in the token',
      'invalid',
      (res) => issue(res, { access_token: jwtFor({ aud: 'backend-a', scope: 'read admin' }) }),
    ],
    ['a foreign audience', 'invalid', (res) => issue(res, { access_token: jwtFor({ aud: ['backend-b'] }) })],
    ['a token for nobody in particular', 'invalid', (res) => issue(res, { access_token: jwtFor({}) })],
    [
      'an expired token',
      'invalid',
      (res) => issue(res, { access_token: jwtFor({ aud: 'backend-a', exp: START / 1000 - 1 }) }),
    ],
    ['100 kB', 'invalid', (res) => issue(res, { padding: 'x'.repeat(100_000) })],
    [
      'invalid_grant',
      'refused',
      (res) => json(res, 400, { error: 'invalid_grant', error_description: 'alice-token is bad' }),
    ],
    ['invalid_target', 'refused', (res) => json(res, 400, { error: 'invalid_target' })],
    ['access_denied', 'refused', (res) => json(res, 403, { error: 'access_denied' })],
    ['invalid_client', 'misconfigured', (res) => json(res, 401, { error: 'invalid_client' })],
  ])('maps %s to token_exchange_%s, caches nothing and reveals no secret', async (_case, code, answer) => {
    reply = answer;
    const credential = open({ scopes: ['read'], client_id: 'c', client_secret_file: '/s/client' });
    const error = await failure(() => credential.headersFor(caller()));
    expect(error.answer.code).toBe(`token_exchange_${code}`);
    expect(error.answer.text).toContain('backend files');
    expect(error.answer.rpc?.data).toEqual({ reason: `token_exchange_${code}`, backend: 'files' });
    expect(logged).toHaveLength(1);
    expect(logged.join() + JSON.stringify(error.answer)).not.toMatch(/alice-token|p:ss|exchanged-1|eyJ/);
    expect(exchanged.size).toBe(0);
    expect(received).toHaveLength(1);
    reply = (res) => issue(res);
    expect(await credential.headersFor(caller())).toEqual(['authorization', `Bearer exchanged-${received.length}`]);
  });

  it.each<[string, Reply]>([
    ['before the answer', () => undefined],
    ['in the middle of it', (res) => res.writeHead(200, { 'content-type': 'application/json' }).write('{')],
  ])('stops at the deadline when the endpoint hangs %s', async (_case, answer) => {
    reply = answer;
    const error = await failure(() => open({}, { exchangeDeadline: 100 }).headersFor(caller()));
    expect(error.answer.code).toBe('token_exchange_timeout');
  });

  it('reports that the endpoint is down', async () => {
    const credential = open();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect((await failure(() => credential.headersFor(caller()))).answer.code).toBe('token_exchange_unavailable');
    server.listen(0, '127.0.0.1');
  });

  it('retries once if the connection breaks before an answer', async () => {
    reply = (res, _call, count) => (count === 1 ? res.socket?.destroy() : issue(res));
    expect(await open().headersFor(caller())).toEqual(['authorization', 'Bearer exchanged-2']);
  });
});

describe('configuration of a token exchange', () => {
  it.each<[string, Record<string, unknown>, RegExp]>([
    ['an empty secret', { client_id: 'c', client_secret_file: '/s/empty' }, /\/s\/empty is empty/],
    ['a bundle without authorities', { ca_bundle_file: '/s/empty' }, /\/s\/empty has no certificate/],
    ['a stored provider token as subject', { subject_provider_name: 'github' }, /stored tokens of provider github/],
  ])('refuses %s', (_case, auth, message) => {
    expect(() => open(auth)).toThrow(message);
    expect(() => open(auth)).toThrow(ConfigError);
  });

  it('warns about a token endpoint without TLS on another machine', () => {
    open({ token_url: 'http://sts.internal/token' });
    expect(logged.join()).toMatch(/without TLS/);
  });
});

async function waitFor(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 12_000 && !condition(); turn++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).toBe(true);
}
