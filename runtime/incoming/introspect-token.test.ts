import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { OidcIncoming } from '#crds/run-config/incoming';
import type { AuthenticatorOptions } from './authenticator-options.ts';
import { RESOURCE, START, startEndpoint, type Endpoint } from './testdata/endpoint.ts';
import { answerJson, makeKey, sign, startIssuer, type FakeIssuer, type SigningKey } from './testdata/fake-issuer.ts';

const seconds = START / 1000;
const good = { active: true, sub: 'alice', aud: RESOURCE, scope: 'mcp', client_id: 'app', exp: seconds + 20 };

let folder: string;
let secret: string;
let key: SigningKey;
let issuer: FakeIssuer;
let closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  key = await makeKey('k1');
  folder = await mkdtemp(join(tmpdir(), 'vmcp-introspection-'));
  secret = join(folder, 'secret');
  await writeFile(secret, 's3cr%t:ü\n');
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  issuer = await startIssuer([key.jwk]);
  closing.push(() => issuer.close());
  issuer.routes.set('/introspect', answerJson(good));
});
afterEach(async () => {
  await Promise.all(closing.map((close) => close()));
  closing = [];
});

async function open(
  incoming: Partial<Omit<OidcIncoming, 'type'>> = {},
  options: Partial<AuthenticatorOptions> = {},
): Promise<Endpoint> {
  const client = { client_id: 'vmcp gate', client_secret_file: secret };
  const endpoint = await startEndpoint({ issuer: issuer.issuer, ...client, ...incoming }, options);
  closing.push(() => endpoint.close());
  return endpoint;
}
const answering = (more: object) => issuer.routes.set('/introspect', answerJson({ ...good, ...more }));
const asked = () => issuer.asked.filter(({ path }) => path === '/introspect');

describe('introspection of opaque tokens', () => {
  it('calls the discovered endpoint with the client’s credentials', async () => {
    const { status, identity } = await (await open()).call('opaque.token~1');
    expect(status).toBe(200);
    expect(identity).toMatchObject({
      issuer: issuer.issuer,
      subject: 'alice',
      clientId: 'app',
      scopes: ['mcp'],
      token: 'opaque.token~1',
      expiresAt: (seconds + 20) * 1000,
    });
    const [call] = asked();
    expect(Object.fromEntries(new URLSearchParams(call!.body))).toEqual({
      token: 'opaque.token~1',
      token_type_hint: 'access_token',
    });
    expect(Buffer.from(call!.authorization!.slice(6), 'base64').toString()).toBe('vmcp+gate:s3cr%25t%3A%C3%BC');
  });

  it('calls the configured endpoint without discovery', async () => {
    issuer.routes.set('/rfc7662', answerJson(good));
    expect((await (await open({ introspection_url: `${issuer.issuer}/rfc7662` })).call('opaque')).status).toBe(200);
    expect(issuer.asked.map(({ path }) => path)).toEqual(['/rfc7662']);
  });

  it('refuses tokens without a call if no client secret is configured', async () => {
    expect((await (await open({ client_secret_file: undefined })).call('opaque')).status).toBe(401);
    expect(issuer.asked).toEqual([]);
  });

  it('requires the client’s id beside its secret', async () => {
    await expect(open({ client_id: undefined })).rejects.toThrow(/client_id/);
  });

  it('leaves JWTs to local verification', async () => {
    const claims = { iss: issuer.issuer, aud: RESOURCE, sub: 'bob', exp: seconds + 60 };
    const endpoint = await open();
    expect((await endpoint.call(await sign(claims, key))).identity.subject).toBe('bob');
    expect((await endpoint.call(await sign(claims, await makeKey('k1')))).status).toBe(401);
    expect(asked()).toEqual([]);
  });

  it.each([
    ['inactive', { active: false }, 'not active'],
    ['of another issuer', { iss: 'https://other.example.com' }, 'another issuer'],
    ['for a sibling audience', { aud: 'https://mcp.example.com/other' }, 'another audience'],
    ['for several sibling audiences', { aud: ['a', 'b'] }, 'another audience'],
    ['without an audience', { aud: undefined }, 'another audience'],
    ['expired', { exp: seconds }, 'expired'],
    ['not valid yet', { nbf: seconds + 31 }, 'not valid yet'],
    ['a refresh token', { token_type: 'refresh_token' }, 'not an access token'],
    ['without a subject', { sub: undefined, client_id: undefined }, 'could not be verified'],
  ])('refuses tokens if %s', async (_what, more, text) => {
    answering(more);
    const { status, text: body, headers } = await (await open()).call('opaque');
    expect(status).toBe(401);
    expect(body).toContain(text);
    expect(headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('accepts an audience list and the type bearer in any case', async () => {
    answering({ aud: ['x', RESOURCE], token_type: 'BEARER', iss: issuer.issuer });
    expect((await (await open()).call('opaque')).status).toBe(200);
  });

  it('takes the client as subject of a token without a subject', async () => {
    answering({ sub: undefined });
    expect((await (await open()).call('opaque')).identity).toMatchObject({ subject: 'app', clientId: 'app' });
  });

  it('reads answers of at most 16 KiB', async () => {
    const endpoint = await open();
    expect((await endpoint.call('x'.repeat(16_385))).status).toBe(401);
    expect(asked()).toEqual([]);
    expect((await endpoint.call('x'.repeat(16_384))).status).toBe(200);
  });

  it('requires the configured scopes', async () => {
    const { status, headers } = await (await open({ scopes: ['admin'] })).call('opaque');
    expect(status).toBe(403);
    expect(headers['www-authenticate']).toContain('scope="admin mcp"');
  });
});

describe('introspection cache', () => {
  it('answers at once for at most 30 seconds, regardless of the configuration', async () => {
    answering({ exp: seconds + 3600 });
    const limits = { jwksMaxAge: 300_000, jwksCooldown: 30_000, introspectionCache: 600_000 };
    const endpoint = await open({}, { limits });
    await endpoint.call('opaque');
    endpoint.clock.time += 29_999;
    expect(endpoint.authenticator.authenticate(['Authorization', 'Bearer opaque'])).not.toBeInstanceOf(Promise);
    endpoint.clock.time += 1;
    answering({ active: false });
    expect((await endpoint.call('opaque')).status).toBe(401);
    expect(asked()).toHaveLength(2);
  });

  it('expires with the token', async () => {
    const endpoint = await open();
    await endpoint.call('opaque');
    endpoint.clock.time += 20_000;
    await endpoint.call('opaque');
    expect(asked()).toHaveLength(2);
  });

  it('does not contain refusals', async () => {
    answering({ active: false });
    const endpoint = await open();
    expect((await endpoint.call('opaque')).status).toBe(401);
    answering({});
    expect((await endpoint.call('opaque')).status).toBe(200);
  });

  it('keeps the answers of different tokens apart', async () => {
    issuer.routes.set('/introspect', (req, res, body) =>
      answerJson({ ...good, sub: new URLSearchParams(body).get('token') })(req, res, body),
    );
    const endpoint = await open();
    const tokens = ['alice', 'bob', 'alice', 'carol', 'bob'];
    const answers = await Promise.all(tokens.map((token) => endpoint.call(token)));
    expect(answers.map(({ identity }) => identity.subject)).toEqual(tokens);
  });

  it('asks once for many concurrent requests', async () => {
    const endpoint = await open();
    const answers = await Promise.all(Array.from({ length: 20 }, () => endpoint.call('opaque')));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(asked()).toHaveLength(1);
  });
});

describe('failing introspection endpoint', () => {
  const bad: [string, Parameters<FakeIssuer['routes']['set']>[1]][] = [
    ['answers 500', answerJson({ error: 'boom' }, 500)],
    ['refuses our credentials', answerJson({ error: 'invalid_client' }, 401)],
    ['redirects', (_req, res) => res.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()],
    ['answers HTML', (_req, res) => res.end('<html>')],
    ['answers without `active`', answerJson({ sub: 'alice' })],
    ['answers `active` as a string', answerJson({ ...good, active: 'true' })],
    ['answers a list', answerJson([good])],
    ['hangs up', (req) => req.socket.destroy()],
    ['is silent', () => undefined],
    ['stops in the middle', (_req, res) => void res.write('{"active":true,')],
  ];
  it.each(bad)('causes a 503 when it %s', async (_what, handler) => {
    issuer.routes.set('/introspect', handler);
    const answer = await (await open({}, { deadline: 100 })).call('opaque');
    expect(answer.status).toBe(503);
    expect(answer.text).not.toMatch(/boom|invalid_client|127\.0\.0\.1/);
  });

  it('causes a 503 when the metadata names none', async () => {
    issuer.routes.set('/.well-known/openid-configuration', answerJson({ issuer: issuer.issuer }));
    expect((await (await open()).call('opaque')).status).toBe(503);
  });

  it('causes a 503 when the secret cannot be read', async () => {
    expect((await (await open({ client_secret_file: join(folder, 'missing') })).call('opaque')).status).toBe(503);
    expect(asked()).toEqual([]);
  });

  it('receives at most 128 concurrent requests; further requests get a 503', async () => {
    const waiting: (() => void)[] = [];
    issuer.routes.set('/introspect', (req, res, body) => waiting.push(() => answerJson(good)(req, res, body)));
    const { authenticator } = await open();
    const ask = (i: number) => Promise.resolve(authenticator.authenticate(['Authorization', `Bearer token${i}`]));
    const asking = Array.from({ length: 128 }, (_, i) => ask(i));
    await expect(ask(128)).rejects.toMatchObject({ answer: { status: 503 } });
    const drain = setInterval(() => waiting.splice(0).forEach((answer) => answer()), 5);
    await Promise.all(asking);
    clearInterval(drain);
    expect((await ask(0)).subject).toBe('alice');
  });

  it('may have a private address only if allowed', async () => {
    const at = { introspection_url: `${issuer.issuer}/introspect`, jwks_allow_private_ip: false };
    expect((await (await open(at)).call('opaque')).status).toBe(503);
    expect(asked()).toEqual([]);
    expect((await (await open({ ...at, protected_resource_allow_private_ip: true })).call('opaque')).status).toBe(200);
  });
});
