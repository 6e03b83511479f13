import { createHash, createHmac } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BackendAuth } from '#crds/run-config/outgoing';
import { ConfigError } from '#runtime/errors';
import { caller } from '#runtime/authserver/upstream-tokens/testdata/setup';
import { createCredential } from './create-credential.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential, CredentialHeaders } from './credential.ts';
import { ExchangedTokens } from './exchanged-tokens.ts';

const START = Date.UTC(2030, 0, 1);
const ROLE = 'arn:aws:iam::123456789012:role/reader';
const BACKEND = 'https://api.example.com:8443/prod/mcp?stage=a%20b&x=1';
const alice = caller('alice@example.com');
const POST = { verb: 'POST', body: Buffer.from('{"jsonrpc":"2.0"}') } as const;

let server: Server;
let stsEndpoint: string;
let forms: URLSearchParams[];
let reply: (res: ServerResponse, count: number) => void;
let clock: number;
let logged: string[];
let opened: Credential[];

const credentials = (res: ServerResponse, count: number, life = 3_600_000) =>
  res.end(`<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult><Credentials>
    <AccessKeyId>ASIAEXAMPLEEXAMPLE0${count}</AccessKeyId><SecretAccessKey>secret/key+${count}</SecretAccessKey>
    <SessionToken>session-token-${count}==</SessionToken><Expiration>${new Date(clock + life).toISOString()}</Expiration>
  </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`);
const refuse = (res: ServerResponse, status: number, code: string) =>
  res
    .writeHead(status)
    .end(`<ErrorResponse><Error><Code>${code}</Code><Message>secret text</Message></Error></ErrorResponse>`);

beforeEach(async () => {
  [forms, logged, opened] = [[], [], []];
  clock = START;
  reply = credentials;
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += String(chunk)));
    req.on('end', () => {
      forms.push(new URLSearchParams(body));
      res.setHeader('content-type', 'text/xml');
      reply(res, forms.length);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  stsEndpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(async () => {
  for (const credential of opened) credential.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function open(document: object = {}, deps: Partial<CredentialDeps> = {}): Credential {
  const write = (message: string, fields?: Record<string, unknown>) =>
    void logged.push(`${message} ${JSON.stringify(fields)} ${String((fields?.error as Error | undefined)?.cause)}`);
  const auth = { type: 'aws_sts', region: 'eu-west-1', service: 'execute-api', fallback_role_arn: ROLE, ...document };
  const credential = createCredential(BackendAuth.parse(auth), {
    backend: 'files',
    readSecret: () => '',
    exchanged: new ExchangedTokens({ now: () => clock }),
    now: () => clock,
    log: { debug: write, info: write, warn: write, error: write },
    url: BACKEND,
    stsEndpoint,
    ...deps,
  });
  opened.push(credential);
  return credential;
}

const headersOf = async (
  credential: Credential,
  identity = alice,
  request: typeof POST | { verb: 'GET'; body: undefined } = POST,
) => recordOf(await credential.headersFor(identity, request));
const recordOf = (headers: CredentialHeaders): Record<string, string> =>
  Object.fromEntries(headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1] ?? '']] : [])));

/** Computes Signature Version 4 by the specification, independently of the library. */
function signature(
  headers: Record<string, string>,
  request: { verb: string; body: Buffer | undefined },
  count: number,
) {
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
  const date = headers['x-amz-date'] ?? '';
  const names = ['host', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token'];
  const signed: Record<string, string> = { ...headers, host: 'api.example.com:8443' };
  const canonical = [
    request.verb,
    '/prod/mcp',
    'stage=a%20b&x=1',
    ...names.map((name) => `${name}:${signed[name] ?? ''}`),
    '',
    names.join(';'),
    sha256(request.body ?? ''),
  ].join('\n');
  const scope = `${date.slice(0, 8)}/eu-west-1/execute-api/aws4_request`;
  const key = scope.split('/').reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4secret/key+${count}`);
  const mac = hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')).toString('hex');
  return `AWS4-HMAC-SHA256 Credential=ASIAEXAMPLEEXAMPLE0${count}/${scope}, SignedHeaders=${names.join(';')}, Signature=${mac}`;
}

describe('AWS credentials of a caller', () => {
  it('come from AssumeRoleWithWebIdentity with the caller’s own token', async () => {
    await headersOf(open({ session_duration: 900 }));
    expect(Object.fromEntries(forms[0]!)).toEqual({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: ROLE,
      RoleSessionName: 'alice@example.com',
      WebIdentityToken: 'jwt-of-alice@example.com',
      DurationSeconds: '900',
    });
    await headersOf(open());
    expect(forms[1]!.get('DurationSeconds')).toBe('3600');
  });

  it('sign method, path, query, host and body of each request', async () => {
    const credential = open();
    const post = await headersOf(credential);
    expect(post.authorization).toBe(signature(post, POST, 1));
    expect(post['x-amz-security-token']).toBe('session-token-1==');
    expect(post['x-amz-date']).toBe('20300101T000000Z');
    const get = { verb: 'GET', body: undefined } as const;
    const second = await headersOf(credential, alice, get);
    expect(second.authorization).toBe(signature(second, get, 1));
    expect(second.authorization).not.toBe(post.authorization);
    const other = { ...POST, body: Buffer.from('{"jsonrpc":"2.0" }') };
    expect((await headersOf(credential, alice, other)).authorization).toBe(
      signature(await headersOf(credential, alice, other), other, 1),
    );
    expect(forms).toHaveLength(1);
  });

  it('come from the cache at once, even with the caller’s next token', async () => {
    const credential = open();
    await headersOf(credential);
    expect(credential.headersFor(alice, POST)).not.toBeInstanceOf(Promise);
    expect(credential.headersFor({ ...alice, token: 'next' }, POST)).not.toBeInstanceOf(Promise);
    expect(forms).toHaveLength(1);
  });

  it('differ for each caller and each role', async () => {
    const mappings = [{ claim: 'groups', matcher: 'admins', role_arn: `${ROLE}-admin` }];
    const credential = open({ role_mappings: mappings });
    const tokens = [alice, caller('bob'), { ...alice, claims: { groups: ['admins'] } }];
    const sent = await Promise.all(tokens.map((identity) => headersOf(credential, identity)));
    expect(new Set(sent.map((headers) => headers['x-amz-security-token'])).size).toBe(3);
    expect(forms.map((form) => form.get('RoleArn')).sort()).toEqual([ROLE, ROLE, `${ROLE}-admin`]);
  });

  it('name the session by a claim, in the characters that AWS takes', async () => {
    const credential = open({ session_name_claim: 'name' });
    await headersOf(credential, { ...alice, claims: { name: `Alice Ångström/${'x'.repeat(80)}` } });
    expect(forms[0]!.get('RoleSessionName')).toBe(`Alice--ngstr-m-${'x'.repeat(49)}`);
    await headersOf(credential, { ...caller('b'), claims: {} });
    expect(forms[1]!.get('RoleSessionName')).toBe('b-');
  });

  it('come from one request for concurrent calls', async () => {
    const credential = open();
    await Promise.all(Array.from({ length: 20 }, () => headersOf(credential)));
    expect(forms).toHaveLength(1);
  });

  it('renew in the background in their last five minutes, and block calls after their expiry', async () => {
    const credential = open();
    await headersOf(credential);
    clock += 3_600_000 - 300_000;
    const asked = new Promise<void>((resolve) => {
      reply = (res, count) => {
        credentials(res, count);
        resolve();
      };
    });
    expect(recordOf(credential.headersFor(alice, POST) as CredentialHeaders)['x-amz-security-token']).toBe(
      'session-token-1==',
    );
    await asked;
    clock += 300_000;
    expect((await headersOf(credential))['x-amz-security-token']).toBe('session-token-2==');
    clock += 3_600_000;
    expect((await headersOf(credential))['x-amz-security-token']).toBe('session-token-3==');
    expect(forms).toHaveLength(3);
  });

  it('leave the cache when the backend answers 401', async () => {
    const credential = open();
    const first = await credential.headersFor(alice, POST);
    expect(credential.invalidate(alice, first)).toBe(true);
    expect((await headersOf(credential))['x-amz-security-token']).toBe('session-token-2==');
  });
});

describe('unavailable AWS credentials', () => {
  it.each([
    ['the caller may not', (res: ServerResponse) => refuse(res, 403, 'AccessDenied'), 'aws_sts_refused'],
    ['the token is not taken', (res: ServerResponse) => refuse(res, 400, 'InvalidIdentityToken'), 'aws_sts_refused'],
    [
      'STS cannot ask the issuer',
      (res: ServerResponse) => refuse(res, 400, 'IDPCommunicationError'),
      'aws_sts_unavailable',
    ],
    ['STS fails', (res: ServerResponse) => refuse(res, 503, ''), 'aws_sts_unavailable'],
    ['STS breaks off', (res: ServerResponse) => res.destroy(), 'aws_sts_unavailable'],
    ['the answer is a page', (res: ServerResponse) => res.end('<html>hello</html>'), 'aws_sts_invalid'],
    ['they are over', (res: ServerResponse) => credentials(res, 1, -1), 'aws_sts_invalid'],
    ['an error is no error of STS', (res: ServerResponse) => res.writeHead(404).end('no'), 'aws_sts_invalid'],
  ])('fail that call alone: %s', async (_case, answer, code) => {
    reply = (res) => void answer(res);
    const credential = open();
    await expect(headersOf(credential)).rejects.toMatchObject({ answer: { status: 200, code } });
    expect(logged.join()).not.toMatch(/jwt-of|secret text|session-token/);
    reply = credentials;
    expect((await headersOf(credential))['x-amz-security-token']).toMatch(/^session-token-[23]==$/);
  });

  it('include those of a caller without role or login', async () => {
    const credential = open({ fallback_role_arn: undefined });
    await expect(headersOf(credential)).rejects.toMatchObject({ answer: { code: 'aws_no_role' } });
    for (const nobody of [
      { ...alice, token: undefined },
      { ...alice, expiresAt: clock },
    ])
      await expect(headersOf(open(), nobody)).rejects.toMatchObject({ answer: { code: 'aws_no_subject' } });
    expect(forms).toHaveLength(0);
  });

  it('prevent the start of a backend without URL', () => {
    expect(() => open({}, { url: undefined })).toThrow(ConfigError);
  });
});
