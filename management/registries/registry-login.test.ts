import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as oidc from 'openid-client';
import { RegistryLogin } from './registry-login.ts';
import { FILE, type RegistryServer, serveRegistry } from './testdata/serve-registry.ts';
import { openRegistries, type OpenRegistries } from './testdata/open-registries.ts';
import { finishDevice, isGood, type Issuer, PERSON, PROGRAM, serveIssuer } from './testdata/serve-issuer.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Protected {
  issuer: Issuer;
  registry: RegistryServer;
  opened: OpenRegistries;
  /** Settings of the registry with this login. */
  settings: (auth: object) => object;
}

/** Serves a registry that requires tokens of its issuer. */
async function protect(options?: Parameters<typeof serveIssuer>[0]): Promise<Protected> {
  const issuer = await serveIssuer(options);
  closing.push(() => issuer.close());
  const registry = await serveRegistry((request, response) => {
    void isGood(issuer, request.headers.authorization).then((good) => {
      if (good) response.end(JSON.stringify(FILE));
      else response.writeHead(401).end();
    });
  });
  closing.push(() => registry.close());
  const secrets: Record<string, string> = { 'vmcp-secrets/registry': PROGRAM.secret, 'vmcp-secrets/wrong': 'another' };
  const opened = await openRegistries({
    readSecret: ({ name, key }) => Promise.resolve(secrets[`${name}/${key}`]),
  });
  closing.push(() => opened.close());
  const settings = (auth: object) => ({
    url: `${registry.url}/registry.json`,
    allow_private_ip: true,
    auth: { issuer: issuer.url, scopes: ['catalogue'], ...auth },
  });
  return { issuer, registry, opened, settings };
}

const PROGRAM_AUTH = { client_id: PROGRAM.id, client_secret_ref: 'vmcp-secrets/registry' };

async function eventually(check: () => Promise<void>): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await check();
      return;
    } catch (error) {
      if (attempt > 150) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

describe('a registry behind a login', () => {
  it('accepts the client credentials of vmcp with a stored secret', async () => {
    const { opened, settings, issuer } = await protect();
    const { status, body } = await opened.ask('PUT', '/registry/default', settings(PROGRAM_AUTH));
    expect(status).toBe(200);
    expect(body).toMatchObject({ server_count: 4, auth_type: 'oauth', auth_status: 'authenticated' });
    const { auth_config: shown } = (await opened.ask('GET', '/registry')).body.registries[0]!;
    expect(shown).toEqual({ issuer: issuer.url, client_id: PROGRAM.id, scopes: ['catalogue'] });
    await opened.restart();
    opened.clock.now += 600_000;
    expect((await opened.ask('GET', '/registry/default')).body.registry.version).toBe('1.2.3');
  });

  it('reuses a token for many reads, and renews it after it expires or is rejected', async () => {
    const { opened, settings, issuer, registry } = await protect();
    await opened.ask('PUT', '/registry/default', settings(PROGRAM_AUTH));
    const tokens = () => issuer.asked.filter((path) => path === '/token').length;
    opened.clock.now += 301_000;
    await opened.ask('GET', '/registry/default');
    expect([tokens(), registry.asked.length]).toEqual([1, 2]);
    opened.clock.now += 301_000;
    await opened.ask('GET', '/registry/default');
    expect([tokens(), registry.asked.length]).toEqual([2, 3]);
    const used = registry.asked.at(-1)?.headers.authorization?.replace('Bearer ', '') ?? '';
    await (await issuer.provider.ClientCredentials.find(used))?.destroy();
    opened.clock.now += 301_000;
    await opened.ask('GET', '/registry/default');
    expect([tokens(), registry.asked.length]).toEqual([3, 5]);
    expect(opened.problems).toEqual([]);
  });

  it('becomes readable after a user logs in on another device', async () => {
    const { opened, settings, issuer } = await protect();
    const { status, body } = await opened.ask('PUT', '/registry/default', settings({ client_id: PERSON }));
    expect(status).toBe(200);
    expect(body).toMatchObject({ server_count: 0, auth_status: 'configured' });
    expect(body.login).toMatchObject({
      verification_uri: expect.stringContaining(`${issuer.url}/device`),
      user_code: expect.stringMatching(/^\w{4}-\w{4}$/),
    });
    expect((await opened.ask('GET', '/registry/default/servers')).body.servers).toEqual([]);
    await finishDevice(issuer, body.login.user_code);
    await eventually(async () => {
      const [info] = (await opened.ask('GET', '/registry')).body.registries;
      expect(info).toMatchObject({ server_count: 4, auth_status: 'authenticated' });
    });
    // The token expires, and the refresh token provides the next one.
    opened.clock.now += 700_000;
    await opened.ask('GET', '/registry/default');
    expect(opened.problems).toEqual([]);
    expect(issuer.asked.filter((path) => path === '/device/auth')).toHaveLength(1);
  });

  it('serves its last content after a restart until a user logs in again', async () => {
    const { opened, settings, issuer } = await protect();
    const { body } = await opened.ask('PUT', '/registry/default', settings({ client_id: PERSON }));
    await finishDevice(issuer, body.login.user_code);
    await eventually(async () => {
      expect((await opened.ask('GET', '/registry')).body.registries[0]?.server_count).toBe(4);
    });
    await opened.restart();
    opened.clock.now += 600_000;
    const [info] = (await opened.ask('GET', '/registry')).body.registries;
    expect(info).toMatchObject({ server_count: 4, auth_status: 'configured' });
    expect(opened.problems).toEqual([expect.stringContaining('set the registry again to log in')]);
  });

  it.each<[string, object, number, string]>([
    ['a wrong secret', { client_id: PROGRAM.id, client_secret_ref: 'vmcp-secrets/wrong' }, 502, 'invalid_client'],
    ['a client that nobody knows', { client_id: 'nobody' }, 502, 'invalid_client'],
    [
      'a secret that is not stored',
      { client_id: PROGRAM.id, client_secret_ref: 'vmcp-secrets/none' },
      400,
      'store it first',
    ],
    ['an issuer that is none', { ...PROGRAM_AUTH, issuer: 'http://127.0.0.1:1' }, 502, 'ECONNREFUSED'],
  ])('rejects %s without a change and reveals no secret', async (_what, auth, code, said) => {
    const { opened, settings } = await protect();
    const { status, body } = await opened.ask('PUT', '/registry/default', settings(auth));
    expect(status).toBe(code);
    expect(body.detail).toContain(said);
    expect(JSON.stringify(body)).not.toContain(PROGRAM.secret);
    expect((await opened.ask('GET', '/registry')).body.registries[0]?.type).toBe('default');
  });

  it('requires a client secret if the issuer supports no device login', async () => {
    const { opened, settings, issuer } = await protect({ deviceFlow: false });
    await issuer.provider.Client.find(PROGRAM.id);
    const { status, body } = await opened.ask('PUT', '/registry/default', settings({ client_id: PERSON }));
    expect(status).toBe(400);
    expect(body.detail).toContain('write auth.client_secret_ref');
  });

  it('rejects new settings if the registry rejects the token', async () => {
    const { opened, settings, registry } = await protect();
    registry.answer = (_, response) => response.writeHead(401).end();
    const { status, body } = await opened.ask('PUT', '/registry/default', settings(PROGRAM_AUTH));
    expect([status, body.code]).toEqual([502, 'upstream_failed']);
    expect(registry.asked).toHaveLength(2);
  });
});

/**
 * Serves an issuer with a device login that never completes. `numbers` are in its answer; `asked` has the times of the
 * polls.
 */
async function offerLogin(numbers: object): Promise<{ configuration: oidc.Configuration; asked: number[] }> {
  const asked: number[] = [];
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/device') {
      const codes = { device_code: 'd', user_code: 'u', verification_uri: `${url}/log-in` };
      response.end(JSON.stringify({ ...codes, ...numbers }));
      return;
    }
    asked.push(performance.now());
    response.writeHead(400).end(JSON.stringify({ error: 'authorization_pending' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoints = { token_endpoint: `${url}/token`, device_authorization_endpoint: `${url}/device` };
  const configuration = new oidc.Configuration({ issuer: url, ...endpoints }, 'c', undefined, oidc.None());
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so to stand out; this issuer is on loopback.
  oidc.allowInsecureRequests(configuration);
  return { configuration, asked };
}

describe('RegistryLogin', () => {
  it.each([
    [{ interval: 0.0001, expires_in: 1e300 }, 3_600],
    [{ interval: 0.5, expires_in: 99.5 }, 100],
  ])('limits the poll interval and the duration of a device login: %j', async (numbers, seconds) => {
    const { configuration, asked } = await offerLogin(numbers);
    const auth = { issuer: configuration.serverMetadata().issuer, client_id: 'c' };
    const login = new RegistryLogin({ auth, configuration: () => Promise.resolve(configuration), now: () => 0 });
    try {
      const { expires_at: end } = await login.begin(() => undefined);
      expect(Date.parse(end)).toBe(seconds * 1000);
      while (asked.length < 3) await sleep(50);
      const pauses = asked.slice(1).map((at, nr) => at - (asked[nr] ?? 0));
      // A timer may fire a millisecond early.
      expect(Math.min(...pauses)).toBeGreaterThan(990);
    } finally {
      login.close();
    }
  });
});
