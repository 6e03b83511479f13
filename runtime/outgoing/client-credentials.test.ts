import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { jwtVerify, UnsecuredJWT } from 'jose';
import { BackendAuth } from '#crds/run-config/outgoing';
import { RequestError } from '#runtime/errors';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { caller } from '#runtime/authserver/upstream-tokens/testdata/setup';
import { createCredential } from './create-credential.ts';
import type { Credential, CredentialHeaders } from './credential.ts';
import { ExchangedTokens } from './exchanged-tokens.ts';

const START = Date.UTC(2030, 0, 1);
const ISSUER = 'https://auth.reports.example';
const pemOf = ({ privateKey }: ReturnType<typeof keys>) =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const keys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const [first, second] = [keys(), keys()];

interface Received {
  readonly form: URLSearchParams;
  readonly authorization: string | undefined;
}

let server: Server;
let tokenUrl: string;
let received: Received[];
let reply: (res: ServerResponse) => void;
let secrets: Record<string, string>;
let exchanged: ExchangedTokens;
let clock: number;
let logged: string;
let opened: Credential[];

const json = (res: ServerResponse, status: number, body: unknown) =>
  void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const issue = (res: ServerResponse, members: Record<string, unknown> = {}) =>
  json(res, 200, { access_token: `token-${received.length}`, token_type: 'bearer', expires_in: 300, ...members });

beforeEach(async () => {
  [received, opened, logged, clock] = [[], [], '', START];
  secrets = { '/s/client': 's+cr:t', '/s/key': pemOf(first) };
  exchanged = new ExchangedTokens({ now: () => clock });
  reply = (res) => issue(res);
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += String(chunk)));
    req.on('end', () => {
      received.push({ form: new URLSearchParams(body), authorization: req.headers.authorization });
      reply(res);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
});
afterEach(async () => {
  for (const credential of opened) credential.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const SECRET = { client_secret_file: '/s/client' };
const KEY = { private_key_file: '/s/key' };

function open(document: object): Credential {
  const log = (message: string, fields?: Record<string, unknown>) => {
    const { error } = fields ?? {};
    logged += `${message} ${JSON.stringify(fields)} ${error instanceof Error ? String(error.cause) : ''}\n`;
  };
  const auth = { type: 'client_credentials', token_url: tokenUrl, client_id: 'vmcp', ...document };
  const credential = createCredential(BackendAuth.parse(auth), {
    backend: 'reports',
    readSecret: (file) => secrets[file] ?? '',
    exchanged,
    now: () => clock,
    log: { debug: log, info: log, warn: log, error: log },
  });
  opened.push(credential);
  return credential;
}

const headersOf = async (credential: Credential, identity = ANONYMOUS): Promise<CredentialHeaders> =>
  credential.headersFor(identity);

async function codeOf(credential: Credential): Promise<string> {
  const error: unknown = await headersOf(credential).catch((reason: unknown) => reason);
  if (error instanceof RequestError) return error.answer.code;
  throw new Error('no failure', { cause: error });
}

describe('clientCredentials', () => {
  it('sends the request of RFC 6749 with Basic credentials', async () => {
    const members = { audience: 'api://reports', resource: 'https://reports.example/mcp', scopes: ['read', 'list'] };
    const credential = open({ ...SECRET, ...members });
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer token-1']);
    expect(Object.fromEntries(received[0]!.form)).toEqual({
      grant_type: 'client_credentials',
      audience: 'api://reports',
      resource: 'https://reports.example/mcp',
      scope: 'read list',
    });
    const pair = Buffer.from(received[0]!.authorization!.replace('Basic ', ''), 'base64').toString();
    expect(pair).toBe('vmcp:s%2Bcr%3At');
    expect(credential).toMatchObject({ authType: 'clientCredentials', perUser: false });
    expect(credential.login).toBeUndefined();
  });

  it('sends the secret in the body where the endpoint refuses Basic credentials', async () => {
    reply = (res) => (received.length === 1 ? json(res, 401, { error: 'invalid_client' }) : issue(res));
    await headersOf(open(SECRET));
    expect(received[1]!.authorization).toBeUndefined();
    expect(Object.fromEntries(received[1]!.form)).toMatchObject({ client_id: 'vmcp', client_secret: 's+cr:t' });
  });

  it('signs a new assertion for each request with a private key', async () => {
    const credential = open({ ...KEY, issuer: ISSUER, private_key_id: 'one' });
    const refused = await headersOf(credential);
    credential.invalidate(ANONYMOUS, refused);
    await headersOf(credential);
    const assertions = received.map(({ form }) => form.get('client_assertion') ?? '');
    const options = { issuer: 'vmcp', subject: 'vmcp', audience: ISSUER, currentDate: new Date(START) };
    const read = await Promise.all(assertions.map((text) => jwtVerify(text, first.publicKey, options)));
    expect(read[0]).toMatchObject({
      protectedHeader: { alg: 'ES256', typ: 'JWT', kid: 'one' },
      payload: { aud: ISSUER, iat: START / 1000, exp: START / 1000 + 60 },
    });
    expect(new Set(read.map(({ payload }) => payload.jti)).size).toBe(2);
    expect(Object.fromEntries(received[0]!.form)).toMatchObject({
      client_id: 'vmcp',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    expect(received[0]!.authorization).toBeUndefined();
  });

  it('addresses assertions to the token endpoint if no issuer is configured', async () => {
    await headersOf(open(KEY));
    const assertion = received[0]!.form.get('client_assertion') ?? '';
    await jwtVerify(assertion, first.publicKey, { audience: tokenUrl, currentDate: new Date(START) });
  });

  it('gives all callers one token, by one request, and backends of equal settings too', async () => {
    const credential = open(SECRET);
    const callers = [ANONYMOUS, caller('alice'), caller('bob')];
    await Promise.all(callers.map((identity) => headersOf(credential, identity)));
    await headersOf(open(SECRET));
    for (const identity of callers)
      expect(credential.headersFor(identity)).toEqual(['authorization', 'Bearer token-1']);
    expect(received).toHaveLength(1);
    await headersOf(open({ ...SECRET, scopes: ['write'] }));
    expect(received).toHaveLength(2);
  });

  it('renews before the end of the token, and never uses it past that', async () => {
    const credential = open(SECRET);
    await headersOf(credential);
    clock = START + 245_000;
    expect(credential.headersFor(ANONYMOUS)).toEqual(['authorization', 'Bearer token-1']);
    for (let wait = 0; wait < 1_000 && received.length < 2; wait++) await new Promise((done) => setTimeout(done, 5));
    clock = START + 301_000;
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer token-2']);
  });

  it('requests one token after a 401 of the backend, also for anonymous callers', async () => {
    const credential = open(SECRET);
    const refused = await headersOf(credential);
    expect([credential.invalidate(ANONYMOUS, refused), credential.invalidate(ANONYMOUS, refused)]).toEqual([
      true,
      true,
    ]);
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer token-2']);
  });

  it('puts the token into the configured header', async () => {
    const credential = open({ ...SECRET, external_token_header_name: 'X-Token' });
    expect(await headersOf(credential)).toEqual(['x-token', 'Bearer token-1']);
  });

  it('follows a new key, and keeps the former one over an unusable one', async () => {
    const credential = open(KEY);
    await headersOf(credential);
    secrets['/s/key'] = pemOf(second);
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer token-2']);
    await jwtVerify(received[1]!.form.get('client_assertion') ?? '', second.publicKey, {
      currentDate: new Date(START),
    });
    secrets['/s/key'] = 'garbled';
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer token-2']);
    expect(logged).toMatch(/the former stay.*\/s\/key/);
    expect(logged).not.toContain('garbled');
  });
});

describe('failures of clientCredentials', () => {
  const jwtFor = (claims: Record<string, unknown>) => new UnsecuredJWT(claims).encode();
  it.each<[string, string, (res: ServerResponse) => void]>([
    ['invalid_client', 'misconfigured', (res) => json(res, 401, { error: 'invalid_client' })],
    ['invalid_scope', 'misconfigured', (res) => json(res, 400, { error: 'invalid_scope' })],
    ['HTML', 'invalid', (res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<h1>')],
    ['another token type', 'invalid', (res) => issue(res, { token_type: 'DPoP' })],
    ['a foreign audience', 'invalid', (res) => issue(res, { access_token: jwtFor({ aud: 'elsewhere' }) })],
    ['a wider scope', 'invalid', (res) => issue(res, { scope: 'read admin' })],
    ['100 kB', 'invalid', (res) => issue(res, { padding: 'x'.repeat(100_000) })],
    ['a redirect', 'invalid', (res) => void res.writeHead(307, { location: 'http://169.254.169.254/' }).end()],
    ['a failure', 'unavailable', (res) => json(res, 500, {})],
  ])('maps %s to token_exchange_%s, caches nothing and reveals no secret', async (_case, code, answer) => {
    reply = answer;
    const credential = open({ ...SECRET, audience: 'api://reports', scopes: ['read'] });
    expect(await codeOf(credential)).toBe(`token_exchange_${code}`);
    expect(logged).not.toMatch(/s\+cr:t|s%2Bcr|eyJ|token-1/);
    reply = (res) => issue(res);
    expect(await headersOf(credential)).toEqual(['authorization', `Bearer token-${received.length}`]);
  });

  it('never sends an assertion twice, if the connection breaks before an answer', async () => {
    reply = (res) => void res.socket?.destroy();
    expect(await codeOf(open(KEY))).toBe('token_exchange_unavailable');
    expect(received).toHaveLength(1);
  });

  it.each<[string, object, RegExp]>([
    ['an empty secret', { client_secret_file: '/s/empty' }, /\/s\/empty is empty/],
    ['a file without a key', { private_key_file: '/s/client' }, /\/s\/client: there is no private key in it/],
  ])('refuses %s', (_case, document, message) => {
    expect(() => open(document)).toThrow(message);
  });
});
