import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { serveIdentityProvider } from '../fakes/identity-provider/serve.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing, configTo } from '../relay/gateway-to.ts';
import { makeCertificates } from './make-certificates.ts';
import { describeWithRedis } from './redis-programs.ts';
import { deleteAt, replicaOf, requestAt, sharedIn, SHORT_DEADLINES, type Shared } from './replicas.ts';
import { until } from '../gateway/until.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

const WATCHED = 'test://watched-resource';
const page = readFileSync(join(import.meta.dirname, '../../docs/operate/storage-schema.md'), 'utf8');

async function readAll(server: RedisServer): Promise<string> {
  const read: Readonly<Record<string, (key: string) => string[]>> = {
    hash: (key) => ['HGETALL', key],
    zset: (key) => ['ZRANGE', key, '0', '-1'],
    string: (key) => ['GET', key],
  };
  const keys = (await server.command('KEYS', '*')) as string[];
  const values = keys.map(async (key) => {
    const type = String(await server.command('TYPE', key));
    return `${key} ${JSON.stringify(await server.command(...(read[type]?.(key) ?? ['DUMP', key])))}`;
  });
  return (await Promise.all(values)).join('\n');
}

/** Starts two replicas in front of a separate backend. */
async function two(shared: Shared) {
  const backend = closing(await servePlain({ tools: 1 }));
  const urls = { one: backend.url };
  return { backend, urls, a: await replicaOf(shared, urls), b: await replicaOf(shared, urls) };
}

const statusAt = async (replica: ServedGateway, client: SessionClient) =>
  (await requestAt(replica, client, 'tools/list')).status;

describeWithRedis('the session store in Redis', () => {
  const own = async (): Promise<RedisServer> => {
    const server = await startRedis();
    closing({ close: () => server.stop() });
    return server;
  };

  it('stops no known session when it is gone, and other requests get 503 until it is back', async () => {
    const server = await own();
    const { a, b } = await two(sharedIn({ addr: server.address }));
    const client = await SessionClient.open(a.url);
    await server.kill();
    await until('the loss', async () => (await statusAt(b, client)) === 503);
    expect(await statusAt(a, client)).toBe(200);
    const call = await requestAt(a, client, 'tools/call', { name: 'one_tool_0', arguments: { text: 'x' } });
    expect(call.answer.result).toBeDefined();
    await expect(SessionClient.open(a.url)).rejects.toThrow(/503/);
    // The session continues, because it could not end at all replicas.
    expect((await deleteAt(a, client)).status).toBe(503);
    expect(await statusAt(a, client)).toBe(200);
    const again = await startRedis({ port: server.port });
    closing({ close: () => again.stop() });
    await until('a record that was written again', async () => {
      await statusAt(a, client);
      return (await statusAt(b, client)) === 200;
    });
    expect((await deleteAt(b, client)).status).toBe(204);
    await until('its end', async () => (await statusAt(a, client)) === 404);
  });

  it('delays a known session at most for the read timeout when it hangs', async () => {
    const server = await own();
    const { a } = await two(sharedIn({ addr: server.address, ...SHORT_DEADLINES }));
    const client = await SessionClient.open(a.url);
    server.freeze();
    let longest = 0;
    for (const end = performance.now() + 3_000; performance.now() < end;) {
      const begun = performance.now();
      expect(await statusAt(a, client)).toBe(200);
      longest = Math.max(longest, performance.now() - begun);
      await sleep(20);
    }
    // Twice 500 ms, and time for a busy machine.
    expect(longest).toBeLessThan(4_000);
    server.thaw();
  });

  it('gives the state of sessions after a lost subscription: sessions that ended meanwhile stay ended', async () => {
    const server = await own();
    const { a, b } = await two(sharedIn({ addr: server.address }));
    const clients = await Promise.all(Array.from({ length: 5 }, () => SessionClient.open(a.url)));
    for (const client of clients) {
      expect([await statusAt(a, client), await statusAt(b, client)]).toEqual([200, 200]);
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      expect((await deleteAt(b, client)).status).toBe(204);
      expect(await statusAt(a, client)).toBe(404);
    }
  });

  it('gets the changes that happened while it was away', async () => {
    const server = await own();
    const backend = closing(await serveEverything());
    const sharing = sharedIn({ addr: server.address });
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const client = await SessionClient.open(a.url);
    await server.kill();
    expect((await client.request('resources/subscribe', { uri: WATCHED })).answer.result).toBeDefined();
    const again = await startRedis({ port: server.port });
    closing({ close: () => again.stop() });
    await until('the subscription at the other', async () => {
      await client.request('ping');
      await requestAt(b, client, 'ping');
      const session = b.runtime.gateway.services.sessions.get(client.headers['mcp-session-id'] ?? '');
      return session?.subscriptions?.has(WATCHED) === true;
    });
  });

  it('holds no session id, token, principal or client data', async () => {
    const server = await own();
    const backend = closing(await serveEverything());
    const identity = closing(await serveIdentityProvider({ audiences: ['mcp'] }));
    const sharing = sharedIn({ addr: server.address });
    const a = await replicaOf(
      sharing,
      { one: backend.url },
      {
        incoming: {
          type: 'oidc',
          ...{ issuer: identity.issuer, jwks_url: identity.jwksUrl, audience: 'mcp' },
          ...{ insecure_allow_http: true, jwks_allow_private_ip: true },
        },
      },
    );
    const token = await identity.sign({ sub: 'alice-the-owner', aud: 'mcp' });
    const client = await SessionClient.open(a.url, { authorization: `Bearer ${token}` }, { roots: {} });
    await client.request('resources/subscribe', { uri: WATCHED });
    await client.request('logging/setLevel', { level: 'warning' });
    const id = client.headers['mcp-session-id'] ?? '';
    const backendSession = a.runtime.gateway.services.sessions.get(id)?.backendSessions[0]?.sessionId ?? '';
    const all = await readAll(server);
    expect(all).toMatch(/:mcp:[\w-]{43} /);
    for (const secret of [
      id,
      backendSession,
      token,
      'alice-the-owner',
      identity.issuer,
      WATCHED,
      'warning',
      '"roots"',
      'clientInfo',
    ]) {
      expect(secret).not.toBe('');
      expect(all).not.toContain(secret);
    }
  });

  it('yields no record that was moved to another session or forged', async () => {
    const server = await own();
    const { a, b } = await two(sharedIn({ addr: server.address }));
    const [victim, other] = [await SessionClient.open(a.url), await SessionClient.open(a.url)];
    const keys = ((await server.command('KEYS', '*:mcp:*')) as string[]).sort();
    const [first = '', second = ''] = keys;
    await server.command('COPY', first, second, 'REPLACE');
    const statuses = [await statusAt(b, victim), await statusAt(b, other)].sort();
    expect(statuses).toEqual([200, 404]);
    await server.command('HSET', first, 'profile', '0 made.up.text');
    await server.command('HSET', second, 'profile', '0 made.up.text');
    const c = await replicaOf(sharedIn({ addr: server.address }), {});
    expect([await statusAt(c, victim), await statusAt(c, other)]).toEqual([404, 404]);
  });

  it.each(['namespace', 'name', 'uid'] as const)(
    'yields no record to a server of another %s with the same prefix and secret',
    async (field) => {
      const server = await own();
      const sharing = sharedIn({ addr: server.address });
      const place = { namespace: 'team', name: 'tools', uid: 'one' };
      const a = await replicaOf(sharing, {}, { server: place });
      const client = await SessionClient.open(a.url);
      const moved = await replicaOf(sharing, {}, { server: { ...place, [field]: 'other' } });
      expect(await statusAt(moved, client)).toBe(404);
      const same = await replicaOf(sharing, {}, { server: place });
      expect(await statusAt(same, client)).toBe(200);
    },
  );

  it('changes, comes or goes by configuration at run time, and sessions continue', async () => {
    const [first, second] = [await own(), await own()];
    const backend = closing(await servePlain({ tools: 1 }));
    const sharing = sharedIn({ addr: first.address });
    const a = await replicaOf(sharing, { one: backend.url }, { session_storage: { type: 'memory' } });
    const client = await SessionClient.open(a.url);
    const places = [sharing.settings, sharedIn({ addr: second.address }).settings];
    for (const settings of places) {
      await a.reconfigure(configTo({ one: backend.url }, { ...settings }));
      expect(await statusAt(a, client)).toBe(200);
      const b = await replicaOf({ settings, files: sharing.files }, { one: backend.url });
      await until('the session at another', async () => (await statusAt(b, client)) === 200);
    }
    await a.reconfigure(configTo({ one: backend.url }));
    expect(await statusAt(a, client)).toBe(200);
  });

  it('accepts a new sealing secret, and opens records of the former one', async () => {
    const server = await own();
    const sharing = sharedIn({ addr: server.address });
    const { a, b, urls } = await two(sharing);
    const client = await SessionClient.open(a.url);
    const both = { ...sharing.settings, sealing_secret_files: ['next', 'sealing'] };
    for (const replica of [a, b]) {
      await writeFile(join(replica.folder, 'next'), 'n'.repeat(40));
      await replica.reconfigure(configTo(urls, both));
    }
    for (const replica of [b, a]) expect(await statusAt(replica, client)).toBe(200);
    const stranger = await replicaOf({ ...sharing, files: { sealing: randomBytes(32).toString('hex') } }, urls);
    // 503: the other replica's secret may still be on its way to this one.
    expect(await statusAt(stranger, client)).toBe(503);
  });

  it('requires a sealing secret', async () => {
    const { settings } = sharedIn({ addr: '127.0.0.1:1', ...SHORT_DEADLINES });
    await expect(replicaOf({ settings: { ...settings, sealing_secret_files: [] }, files: {} }, {})).rejects.toThrow(
      /sealing_secret_files: is empty, and stored sessions are sealed/,
    );
  });

  it('works over TLS, and its outage appears in the status', async () => {
    const certificates = makeCertificates();
    closing({ close: () => certificates.remove() });
    const server = await startRedis({ certificates });
    closing({ close: () => server.stop() });
    const files = { ca: certificates.ca };
    const sharing = sharedIn({ addr: server.address, tls: { ca_cert_file: 'ca' } });
    const { a, b } = await two({ ...sharing, files: { ...sharing.files, ...files } });
    const client = await SessionClient.open(a.url);
    expect(await statusAt(b, client)).toBe(200);
    expect(a.runtime.gateway.services.sessions.warnings).toEqual([]);
    await server.kill();
    const status = async () => (await fetch(`http://127.0.0.1:${a.runtime.address.privatePort}/status`)).text();
    await until('a warning', async () => (await status()).includes('the Redis of sessions cannot be reached'));
  });
});

describeWithRedis('the user in Redis', () => {
  const PREFIX = 'vmcp:team/tools:';
  const PASSWORD = 'the password';
  const acl_user_config = { username_file: 'user', password_file: 'password' };
  const rule = /^user vmcp [^`]*?(?=\n```)/m.exec(page)?.[0].replaceAll(/\s*\\?\n\s*/g, ' ') ?? '';
  let server: RedisServer | undefined;
  beforeAll(async () => {
    const documented = rule.replace('>PASSWORD', `">${PASSWORD}"`);
    server = await startRedis({ lines: [documented, `${documented.replace('user vmcp', 'user deaf')} -subscribe`] });
  });
  afterAll(() => server?.stop());

  function sharedAs(user: string, key_prefix = PREFIX): Shared {
    const sharing = sharedIn({ addr: server!.address, acl_user_config, key_prefix });
    return { ...sharing, files: { ...sharing.files, user, password: PASSWORD } };
  }

  it('needs only the documented rights, and all its keys have the prefix, expire, and are documented', async () => {
    const backend = closing(await serveEverything());
    const sharing = sharedAs('vmcp');
    const [a, b] = [await replicaOf(sharing, { one: backend.url }), await replicaOf(sharing, { one: backend.url })];
    const [client, ended] = [await SessionClient.open(a.url), await SessionClient.open(b.url)];
    await requestAt(b, client, 'resources/subscribe', { uri: WATCHED });
    await requestAt(b, client, 'resources/unsubscribe', { uri: WATCHED });
    expect((await deleteAt(a, ended)).status).toBe(204);
    await until('its end', async () => (await statusAt(b, ended)) === 404);
    expect(a.runtime.gateway.services.sessions.warnings).toEqual([]);
    const refused = (await server!.command('ACL', 'LOG')) as unknown[];
    expect(refused).toEqual([]);
    const keys = (await server!.command('KEYS', '*')) as string[];
    expect(keys.length).toBeGreaterThan(3);
    for (const key of keys) {
      const [, kind = ''] = /^vmcp:team\/tools:([a-z-]+)/.exec(key) ?? [];
      expect(page).toMatch(new RegExp(`^\\| \`${kind}(:\`|\`)`, 'm'));
      expect(Number(await server!.command('PTTL', key))).toBeGreaterThan(0);
    }
  });

  it('makes each request ask Redis if it may not subscribe: a session that ends at one replica ends at the other at once', async () => {
    const { a, b } = await two(sharedAs('deaf', `${PREFIX}deaf:`));
    const client = await SessionClient.open(a.url);
    for (const replica of [a, b, a]) expect(await statusAt(replica, client)).toBe(200);
    expect(a.runtime.gateway.services.sessions.warnings.join()).toContain('gets no events of the others');
    expect(a.log()).toContain('Redis lets its user not listen');
    expect((await deleteAt(b, client)).status).toBe(204);
    expect(await statusAt(a, client)).toBe(404);
  });
});
