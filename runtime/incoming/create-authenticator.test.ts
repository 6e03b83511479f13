import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JWTPayload } from 'jose';
import { ANONYMOUS } from './build-identity.ts';
import { createAuthenticator } from './create-authenticator.ts';
import { MAX_TOKEN_LENGTH } from './read-bearer.ts';
import { RESOURCE, START, startEndpoint, type Endpoint } from './testdata/endpoint.ts';
import { makeKey, sign, startIssuer, type FakeIssuer, type SigningKey } from './testdata/fake-issuer.ts';
import { createTokenMemory } from './token-memory.ts';

const METADATA = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';
let issuer: FakeIssuer;
let endpoint: Endpoint;
let scoped: Endpoint;
let key: SigningKey;
let token: string;

const claims = (more: JWTPayload = {}) => ({
  iss: issuer.issuer,
  aud: RESOURCE,
  sub: 'alice',
  exp: START / 1000 + 3600,
  ...more,
});

beforeAll(async () => {
  key = await makeKey('k1');
  issuer = await startIssuer([key.jwk]);
  endpoint = await startEndpoint({ issuer: issuer.issuer });
  scoped = await startEndpoint({ issuer: issuer.issuer, scopes: ['mcp', 'files:read'] });
  token = await sign(claims(), key);
});
afterAll(async () => {
  await Promise.all([endpoint.close(), scoped.close()]);
  await issuer.close();
});

describe('anonymous authenticator', () => {
  it('admits every caller as one fixed identity and warns', () => {
    const options = {
      limits: { jwksMaxAge: 1, jwksCooldown: 1, introspectionCache: 1 },
      now: Date.now,
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
      readFile: () => Promise.reject(new Error('no file')),
    };
    const authenticator = createAuthenticator({ type: 'anonymous' }, options);
    const identity = authenticator.authenticate(['Authorization', 'Bearer whatever']);
    expect(identity).toEqual({
      issuer: '',
      subject: 'anonymous',
      clientId: undefined,
      scopes: [],
      groups: [],
      claims: {},
      key: '["","anonymous"]',
      token: undefined,
      expiresAt: Infinity,
    });
    expect(authenticator.authenticate([])).toBe(identity);
    expect(authenticator.warnings).toEqual([expect.stringContaining('Anybody')]);
    authenticator.close();
  });
});

describe('Authorization header', () => {
  const status = (answer: string) => Number(answer.split(' ')[1]);

  it('gets a 401 without an error if it is missing or of another scheme', async () => {
    for (const headers of [{}, { authorization: 'Basic YTpi' }, { authorization: 'Bearer' }]) {
      const { status, headers: answered, text } = await endpoint.call(undefined, headers);
      expect(status).toBe(401);
      expect(answered['www-authenticate']).toBe(`Bearer resource_metadata="${METADATA}"`);
      expect(JSON.parse(text)).toEqual({
        error: 'unauthorized',
        error_description: 'This endpoint needs an access token',
      });
    }
  });

  it('may have any case', async () => {
    for (const line of [`authorization: bearer ${token}`, `AUTHORIZATION: BEARER   ${token}  `]) {
      expect(status(await endpoint.raw([line]))).toBe(200);
    }
  });

  it('may occur only once, even with the same token', async () => {
    const line = `Authorization: Bearer ${token}`;
    expect(status(await endpoint.raw([line, line]))).toBe(401);
    expect(status(await endpoint.raw([line, 'authorization: Basic YTpi']))).toBe(401);
    expect(status(await endpoint.raw([`${line}, Bearer ${token}`]))).toBe(401);
  });

  it('accepts no token elsewhere: a token in the query is ignored', async () => {
    const answer = await endpoint.raw([], `/mcp?access_token=${token}`);
    expect(status(answer)).toBe(401);
    expect(answer).not.toContain('error="');
  });

  it('limits the token in length and characters', async () => {
    expect((await endpoint.call('x'.repeat(MAX_TOKEN_LENGTH + 1))).status).toBe(401);
    for (const bad of ['a b', 'a"b', 'a,b', '', 'ä']) {
      expect(status(await endpoint.raw([`Authorization: Bearer ${bad}`]))).toBe(401);
    }
    expect(issuer.count('/introspect')).toBe(0);
  });
});

describe('challenges', () => {
  it('name the metadata, the error in fixed words, and the required scopes', async () => {
    const { headers } = await scoped.call('a.b.c');
    expect(headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${METADATA}", error="invalid_token", ` +
        'error_description="The access token could not be verified", scope="mcp files:read"',
    );
    expect((await scoped.call()).headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${METADATA}", scope="mcp files:read"`,
    );
  });

  it('request the union of held and missing scopes', async () => {
    const answer = await scoped.call(await sign(claims({ scope: 'files:read extra' }), key));
    expect(answer.status).toBe(403);
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${METADATA}", error="insufficient_scope", ` +
        'error_description="The access token lacks a required scope", scope="mcp files:read extra"',
    );
    expect(JSON.parse(answer.text)).toMatchObject({ error: 'insufficient_scope' });
  });

  it('keep scopes of a token inside the quoted header value', async () => {
    const { headers } = await scoped.call(await sign(claims({ scp: ['x", error="y', 'a\\b', 'ü', 'fine'] }), key));
    expect(headers['www-authenticate']).toMatch(/, scope="mcp files:read fine"$/);
  });

  it('accept scopes as a string, as a list, and as scp', async () => {
    for (const more of [
      { scope: 'files:read mcp' },
      { scope: ['mcp', 'files:read'] },
      { scp: ['mcp', 'files:read'] },
    ]) {
      expect((await scoped.call(await sign(claims(more), key))).status).toBe(200);
    }
  });

  it('omit the metadata if the URL of the endpoint is unknown', async () => {
    const at = await startEndpoint({ issuer: issuer.issuer }, { resourceUrl: undefined });
    expect((await at.call()).headers['www-authenticate']).toBe('Bearer');
    await at.close();
    const metadataUrl = 'http://127.0.0.1:4483/.well-known/oauth-protected-resource/mcp';
    const other = await startEndpoint({ issuer: issuer.issuer }, { resourceUrl: undefined, metadataUrl });
    expect((await other.call()).headers['www-authenticate']).toBe(`Bearer resource_metadata="${metadataUrl}"`);
    await other.close();
  });
});

describe('token cache', () => {
  const headers = () => ['authorization', `Bearer ${token}`];

  it('answers at once with the same identity object', async () => {
    const first = await endpoint.authenticator.authenticate(headers());
    expect(endpoint.authenticator.authenticate(headers())).toBe(first);
  });

  it('refuses a token from its expiry on', async () => {
    const at = await startEndpoint({ issuer: issuer.issuer });
    const short = await sign(claims({ exp: START / 1000 + 60 }), key);
    expect((await at.call(short)).status).toBe(200);
    at.clock.time += 59_999;
    expect((await at.call(short)).status).toBe(200);
    at.clock.time += 1;
    expect((await at.call(short)).status).toBe(401);
    await at.close();
  });

  it('ends with its authenticator, which then opens no more connections', async () => {
    const at = await startEndpoint({ issuer: issuer.issuer });
    await at.call(token);
    at.authenticator.close();
    expect(at.authenticator.authenticate(headers())).toBeInstanceOf(Promise);
    await at.close();
    const idle = await startEndpoint({ issuer: issuer.issuer });
    idle.authenticator.close();
    const before = issuer.asked.length;
    expect((await idle.call(token)).status).toBe(503);
    expect(issuer.asked).toHaveLength(before);
    await idle.close();
  });

  it('verifies a token once for many concurrent requests', async () => {
    const at = await startEndpoint({ issuer: issuer.issuer });
    const [first, second] = [at.authenticator.authenticate(headers()), at.authenticator.authenticate(headers())];
    expect(first).toBeInstanceOf(Promise);
    expect(second).toBe(first);
    await first;
    await at.close();
  });

  it('evicts the least recently used token', () => {
    const memory = createTokenMemory(2);
    const remembered = { identity: ANONYMOUS, until: Infinity, keys: undefined };
    for (const digest of ['a', 'b']) memory.set(digest, remembered);
    memory.get('a');
    memory.set('c', remembered);
    expect(['a', 'b', 'c'].map((digest) => memory.get(digest) !== undefined)).toEqual([true, false, true]);
    expect(memory.size).toBe(2);
  });
});
