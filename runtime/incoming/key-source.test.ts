import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, rootCertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateKeyPair, exportJWK, type JWK, type JWTPayload } from 'jose';
import { Agent } from 'undici';
import type { OidcIncoming } from '#crds/run-config/incoming';
import type { AuthenticatorOptions } from './authenticator-options.ts';
import type { DispatcherFor } from './json-client.ts';
import { RESOURCE, START, startEndpoint, type Endpoint } from './testdata/endpoint.ts';
import { answerJson, makeKey, sign, startIssuer, type FakeIssuer, type SigningKey } from './testdata/fake-issuer.ts';

const HOUR = 3_600_000;
const METADATA = '/.well-known/openid-configuration';

let first: SigningKey;
let second: SigningKey;
let issuer: FakeIssuer;
let closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  [first, second] = await Promise.all([makeKey('k1'), makeKey('k2')]);
});
beforeEach(async () => {
  issuer = await startIssuer([first.jwk]);
  closing.push(() => issuer.close());
});
afterEach(async () => {
  await Promise.all(closing.map((close) => close()));
  closing = [];
});

async function open(
  incoming: Partial<Omit<OidcIncoming, 'type'>> = {},
  options: Partial<AuthenticatorOptions> = {},
): Promise<Endpoint> {
  const endpoint = await startEndpoint({ issuer: issuer.issuer, ...incoming }, options);
  closing.push(() => endpoint.close());
  return endpoint;
}

/** Each call returns another token, so that none is cached. */
let serial = 0;
const token = (key: SigningKey, more: JWTPayload = {}) => {
  const times = { exp: START / 1000 + 1_000_000, jti: String((serial += 1)) };
  return sign({ iss: issuer.issuer, aud: RESOURCE, sub: 'alice', ...times, ...more }, key);
};
const status = async (endpoint: Endpoint, bearer: string) => (await endpoint.call(bearer)).status;
const publish = (...keys: JWK[]) => issuer.routes.set('/jwks', answerJson({ keys }));
const fail = () => issuer.routes.set('/jwks', answerJson({}, 500));

describe('discovery of keys', () => {
  it('discovers keys once for many concurrent requests', async () => {
    const endpoint = await open();
    const bearers = await Promise.all(Array.from({ length: 20 }, () => token(first)));
    expect(await Promise.all(bearers.map((bearer) => status(endpoint, bearer)))).toEqual(Array(20).fill(200));
    expect(issuer.count('/jwks')).toBe(1);
    expect(issuer.count(METADATA)).toBe(1);
  });

  it('discovers an issuer with a path at the URLs of RFC 8414', async () => {
    const tenant = `${issuer.issuer}/tenant`;
    issuer.routes.set(
      '/.well-known/oauth-authorization-server/tenant',
      answerJson({ issuer: tenant, jwks_uri: `${issuer.issuer}/jwks` }),
    );
    const endpoint = await open({ issuer: tenant });
    expect(await status(endpoint, await token(first, { iss: tenant }))).toBe(200);
    expect(issuer.asked.map(({ path }) => path)).toEqual([
      `/tenant${METADATA}`,
      '/.well-known/oauth-authorization-server/tenant',
      '/jwks',
    ]);
  });

  it('refuses metadata of another issuer, even by a slash', async () => {
    issuer.routes.set(METADATA, answerJson({ issuer: `${issuer.issuer}/`, jwks_uri: `${issuer.issuer}/jwks` }));
    const endpoint = await open();
    expect(await status(endpoint, await token(first))).toBe(503);
    expect(endpoint.logged.join()).toContain('calls itself another issuer');
    expect(issuer.count('/jwks')).toBe(0);
  });

  it('prefers jwks_url, which needs no discovery', async () => {
    issuer.routes.set('/elsewhere', answerJson({ keys: [second.jwk] }));
    const endpoint = await open({ jwks_url: `${issuer.issuer}/elsewhere` });
    expect(await status(endpoint, await token(second))).toBe(200);
    expect(issuer.asked).toHaveLength(1);
  });

  it('prefers the keys of the document, which need no call', async () => {
    const endpoint = await open({ jwks: { keys: [{ ...second.jwk }] }, jwks_url: `${issuer.issuer}/jwks` });
    expect(await status(endpoint, await token(second))).toBe(200);
    expect(await status(endpoint, await token(first))).toBe(401);
    expect(issuer.asked).toEqual([]);
  });

  it('reads a key file again when it changes, and bridges one that cannot be read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-keys-'));
    closing.push(() => rm(folder, { recursive: true }));
    const file = join(folder, 'jwks.json');
    await writeFile(file, JSON.stringify({ keys: [first.jwk] }));
    const endpoint = await open({ jwks_file: file });
    expect(await status(endpoint, await token(first))).toBe(200);
    await writeFile(file, JSON.stringify({ keys: [second.jwk] }));
    endpoint.clock.time += 5_000;
    expect(await status(endpoint, await token(first))).toBe(401);
    expect(await status(endpoint, await token(second))).toBe(200);
    await writeFile(file, '{');
    endpoint.clock.time += 5_000;
    expect(await status(endpoint, await token(second))).toBe(200);
    expect(issuer.asked).toEqual([]);
  });

  it('shows the token for the key set to the configured URL and to the issuer, never to a third party', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-keys-'));
    closing.push(() => rm(folder, { recursive: true }));
    const file = join(folder, 'token');
    await writeFile(file, 'key-reader\n');
    const third = await startIssuer([first.jwk]);
    closing.push(() => third.close());
    for (const from of [{ jwks_url: `${third.issuer}/jwks` }, {}]) {
      expect(await status(await open({ ...from, jwks_auth_token_file: file }), await token(first))).toBe(200);
    }
    expect([third.asked[0]!.authorization, issuer.asked[1]!.authorization]).toEqual(Array(2).fill('Bearer key-reader'));
    issuer.routes.set(METADATA, answerJson({ issuer: issuer.issuer, jwks_uri: `${third.issuer}/jwks` }));
    expect(await status(await open({ jwks_auth_token_file: file }), await token(first))).toBe(200);
    expect(third.asked[1]!.authorization).toBeUndefined();
  });
});

describe('selection of keys', () => {
  it('ignores and reports unusable keys, and uses the others', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const weak = Buffer.alloc(128, 0xff).toString('base64url');
    publish(
      { kty: 'oct', k: 'c2VjcmV0', kid: 'shared' },
      { ...(await exportJWK(privateKey)), kid: 'leaked' },
      { kty: 'RSA', n: weak, e: 'AQAB', kid: 'weak' },
      { kty: 'EC', crv: 'P-256', x: '!', y: '!', kid: 'broken' },
      { ...second.jwk, use: 'enc' },
      first.jwk,
    );
    const endpoint = await open();
    expect(await status(endpoint, await token(first))).toBe(200);
    expect(await status(endpoint, await token(second))).toBe(401);
    for (const fault of ['shared: a shared secret', 'leaked: private', 'weak: shorter', 'broken: malformed']) {
      expect(endpoint.logged.join()).toContain(`kid ${fault}`);
    }
  });

  it('tries all suitable keys if neither token nor key has a kid', async () => {
    const keys = await Promise.all([makeKey(undefined), makeKey(undefined), makeKey(undefined)]);
    publish(...keys.map(({ jwk }) => jwk));
    const endpoint = await open();
    for (const key of keys) expect(await status(endpoint, await token(key))).toBe(200);
    expect(await status(endpoint, await token(await makeKey(undefined)))).toBe(401);
  });

  it('answers 503 if the key set has no usable key or is invalid', async () => {
    for (const document of [{ keys: [] }, { keys: 'x' }, [], null, { keys: Array(101).fill(first.jwk) }]) {
      issuer.routes.set('/jwks', answerJson(document));
      expect(await status(await open(), await token(first))).toBe(503);
    }
  });
});

describe('key rotation', () => {
  it('reads the keys once for an unknown kid, then waits for the cooldown', async () => {
    const endpoint = await open();
    expect(await status(endpoint, await token(first))).toBe(200);
    publish(first.jwk, second.jwk);
    expect(await status(endpoint, await token(second))).toBe(200);
    expect(issuer.count('/jwks')).toBe(2);
    const unknown = await makeKey('k3');
    const bearers = await Promise.all(Array.from({ length: 10 }, () => token(unknown)));
    expect(await Promise.all(bearers.map((bearer) => status(endpoint, bearer)))).toEqual(Array(10).fill(401));
    endpoint.clock.time += 29_999;
    expect(await status(endpoint, await token(unknown))).toBe(401);
    expect(issuer.count('/jwks')).toBe(2);
    endpoint.clock.time += 1;
    expect(await status(endpoint, await token(unknown))).toBe(401);
    expect(issuer.count('/jwks')).toBe(3);
  });

  it('does not reread the keys for a bad signature under a known kid', async () => {
    const endpoint = await open();
    expect(await status(endpoint, await token(await makeKey('k1')))).toBe(401);
    expect(issuer.count('/jwks')).toBe(1);
  });

  it('refuses a cached token after its key is removed, at the latest at the key set’s maximum age', async () => {
    const endpoint = await open();
    const bearer = await token(first);
    expect(await status(endpoint, bearer)).toBe(200);
    publish(second.jwk);
    endpoint.clock.time += 200_000;
    expect(await status(endpoint, bearer)).toBe(200);
    expect(issuer.count('/jwks')).toBe(1);
    endpoint.clock.time += 100_000;
    expect(await status(endpoint, bearer)).toBe(401);
  });

  it('keeps cached tokens if the reread keys are the same', async () => {
    const endpoint = await open();
    const bearer = await token(first);
    const ask = () => endpoint.authenticator.authenticate(['authorization', `Bearer ${bearer}`]);
    const before = await ask();
    endpoint.clock.time += 300_000;
    const renewed = ask();
    expect(renewed).toBeInstanceOf(Promise);
    expect(await renewed).toBe(before);
    expect(issuer.count('/jwks')).toBe(2);
    expect(ask()).toBe(before);
  });

  it('renews keys in the background before they reach their maximum age', async () => {
    const endpoint = await open();
    const bearer = await token(first);
    await endpoint.call(bearer);
    endpoint.clock.time += 240_000;
    expect(endpoint.authenticator.authenticate(['authorization', `Bearer ${bearer}`])).not.toBeInstanceOf(Promise);
    while (issuer.count('/jwks') < 2) await new Promise(setImmediate);
    expect(await status(endpoint, await token(first))).toBe(200);
    expect(issuer.count('/jwks')).toBe(2);
  });
});

describe('failing key source', () => {
  it('answers 503 without keys, retries with growing pauses, and recovers', async () => {
    fail();
    const endpoint = await open();
    const answer = await endpoint.call(await token(first));
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.text).not.toContain('127.0.0.1');
    expect(await status(endpoint, await token(first))).toBe(503);
    expect(issuer.count('/jwks')).toBe(1);
    endpoint.clock.time += 1_000;
    expect(await status(endpoint, await token(first))).toBe(503);
    endpoint.clock.time += 1_999;
    expect(await status(endpoint, await token(first))).toBe(503);
    expect(issuer.count('/jwks')).toBe(2);
    publish(first.jwk);
    endpoint.clock.time += 1;
    expect(await status(endpoint, await token(first))).toBe(200);
  });

  it('uses the former keys for an hour beyond their maximum age, then answers 503', async () => {
    const endpoint = await open();
    const bearer = await token(first);
    await endpoint.call(bearer);
    fail();
    endpoint.clock.time += 300_000;
    expect([await status(endpoint, bearer), await status(endpoint, await token(first))]).toEqual([200, 200]);
    endpoint.clock.time += HOUR - 1;
    expect([await status(endpoint, bearer), await status(endpoint, await token(first))]).toEqual([200, 200]);
    endpoint.clock.time += 60_000;
    expect([await status(endpoint, bearer), await status(endpoint, await token(first))]).toEqual([503, 503]);
    publish(first.jwk);
    endpoint.clock.time += 30_000;
    expect(await status(endpoint, bearer)).toBe(200);
  });

  it('answers 503, not 401, to an unknown kid while the keys cannot be read', async () => {
    const endpoint = await open();
    await endpoint.call(await token(first));
    fail();
    expect(await status(endpoint, await token(second))).toBe(503);
    expect(await status(endpoint, await token(second))).toBe(503);
    expect(await status(endpoint, await token(first))).toBe(200);
    expect(issuer.count('/jwks')).toBe(2);
  });

  it('does not retry a failing source for an unknown kid before its pause ends', async () => {
    const endpoint = await open();
    await endpoint.call(await token(first));
    fail();
    endpoint.clock.time += 300_000;
    expect(await status(endpoint, await token(first))).toBe(200);
    expect(await status(endpoint, await token(second))).toBe(503);
    expect(issuer.count('/jwks')).toBe(2);
  });

  it('limits the time for headers and body to the deadline', async () => {
    issuer.routes.set('/jwks', () => undefined);
    const silent = await open({}, { deadline: 50 });
    expect(await status(silent, await token(first))).toBe(503);
    expect(silent.logged.join()).toContain('no answer in time');
    issuer.routes.set('/jwks', (_req, res) => void res.writeHead(200).write('{"keys":'));
    expect(await status(await open({}, { deadline: 50 }), await token(first))).toBe(503);
  });

  it('limits the answer to half a mebibyte', async () => {
    const padding = 'x'.repeat(1024);
    let written = 0;
    issuer.routes.set('/jwks', (_req, res) => {
      res.writeHead(200);
      const pour = () => {
        while (!res.destroyed && written < 100_000_000) {
          written += padding.length;
          if (!res.write(padding)) return void res.once('drain', pour);
        }
      };
      pour();
    });
    const endpoint = await open();
    expect(await status(endpoint, await token(first))).toBe(503);
    expect(endpoint.logged.join()).toContain('longer than 524288 bytes');
    expect(written).toBeLessThan(20_000_000);
  });

  it('answers 503 if the issuer is unreachable', async () => {
    const endpoint = await open();
    const bearer = await token(first);
    await issuer.close();
    expect(await status(endpoint, bearer)).toBe(503);
    expect(endpoint.logged.join()).toContain('ECONNREFUSED');
  });
});

describe('requests for keys', () => {
  it('follow no redirect, neither to a private address nor elsewhere', async () => {
    const inside = await startIssuer([first.jwk]);
    closing.push(() => inside.close());
    issuer.routes.set('/jwks', (_req, res) => res.writeHead(302, { location: `${inside.issuer}/jwks` }).end());
    expect(await status(await open(), await token(first))).toBe(503);
    issuer.routes.set('/jwks', answerJson({ keys: [first.jwk] }, 302));
    expect(await status(await open(), await token(first))).toBe(503);
    issuer.routes.set(METADATA, (_req, res) => res.writeHead(307, { location: `${inside.issuer}${METADATA}` }).end());
    expect(await status(await open(), await token(first))).toBe(503);
    expect(inside.asked).toEqual([]);
  });

  it.each(['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]'])(
    'calls no private address unless allowed: %s',
    async (host) => {
      const url = `http://${host}:${issuer.port}/jwks`;
      const endpoint = await open({ jwks_url: url, jwks_allow_private_ip: false, insecure_allow_http: true });
      expect(await status(endpoint, await token(first))).toBe(503);
      expect(endpoint.logged.join()).toContain('jwksAllowPrivateIP');
      expect(issuer.asked).toEqual([]);
    },
  );

  it('never go to a private address that discovery names', async () => {
    const endpoint = await open({ jwks_allow_private_ip: false });
    expect(await status(endpoint, await token(first))).toBe(503);
    expect(issuer.asked).toEqual([]);
  });

  it('use plain http beyond loopback only if allowed', async () => {
    for (const host of ['idp.example.com', '127.evil.example', '10.0.0.1']) {
      const endpoint = await open({ jwks_url: `http://${host}/jwks` });
      expect(await status(endpoint, await token(first))).toBe(503);
      expect(endpoint.logged.join()).toContain('insecureAllowHTTP');
    }
    const file = await open({ jwks_url: 'file:///etc/passwd', insecure_allow_http: true });
    expect(await status(file, await token(first))).toBe(503);
  });

  it('trust the configured certificate authorities, and no unknown one', async () => {
    const pem = (name: string) => join(import.meta.dirname, 'testdata', `loopback-${name}.pem`);
    const [cert, key] = await Promise.all([readFile(pem('cert')), readFile(pem('key'))]);
    const tls = await startIssuer([first.jwk], { cert, key });
    closing.push(() => tls.close());
    const stranger = await open({ issuer: tls.issuer });
    expect(await status(stranger, await token(first, { iss: tls.issuer }))).toBe(503);
    expect(tls.asked).toEqual([]);
    const friend = await open({ issuer: tls.issuer, ca_bundle_file: pem('cert') });
    expect(await status(friend, await token(first, { iss: tls.issuer }))).toBe(200);
    const inside = await open({ issuer: tls.issuer, ca_bundle_file: pem('cert'), jwks_allow_private_ip: false });
    expect(await status(inside, await token(first, { iss: tls.issuer }))).toBe(503);
    const named = tls.issuer.replace('127.0.0.1', 'localhost');
    const rebound = await open({ issuer: named, ca_bundle_file: pem('cert'), jwks_allow_private_ip: false });
    expect(await status(rebound, await token(first, { iss: named }))).toBe(503);
    expect(rebound.logged.join()).toContain('resolves to a private address');
    expect(tls.asked).toHaveLength(2);
  });

  it('trust the default certificate authorities besides the configured ones', async () => {
    const pem = (name: string) => join(import.meta.dirname, 'testdata', `loopback-${name}.pem`);
    const [cert, key] = await Promise.all([readFile(pem('cert'), 'utf8'), readFile(pem('key'), 'utf8')]);
    const tls = await startIssuer([first.jwk], { cert, key });
    closing.push(() => tls.close());
    const usual = getCACertificates('default');
    closing.push(() => {
      setDefaultCACertificates(usual);
      return Promise.resolve();
    });
    setDefaultCACertificates([...usual, cert]);
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-authorities-'));
    closing.push(() => rm(folder, { recursive: true, force: true }));
    const other = join(folder, 'other.pem');
    await writeFile(other, rootCertificates[0] ?? '');
    const endpoint = await open({ issuer: tls.issuer, ca_bundle_file: other });
    expect(await status(endpoint, await token(first, { iss: tls.issuer }))).toBe(200);
  });

  it('use the configured connections, with the same address rules', async () => {
    const connects: object[] = [];
    const dispatcherFor: DispatcherFor = (connect) => {
      connects.push(connect);
      return new Agent({ connect });
    };
    expect(await status(await open({}, { dispatcherFor }), await token(first))).toBe(200);
    expect(connects).toHaveLength(1);
    const url = `http://localhost:${issuer.port}/jwks`;
    const guarded = await open({ jwks_url: url, jwks_allow_private_ip: false }, { dispatcherFor });
    expect(await status(guarded, await token(first))).toBe(503);
    expect(connects.at(-1)).toHaveProperty('lookup');
  });
});
