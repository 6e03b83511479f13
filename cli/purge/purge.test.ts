import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { describeWithRedis } from '../../e2e/redis/redis-programs.ts';
import { makeCertificates } from '../../e2e/redis/make-certificates.ts';
import { openRedis } from '../../e2e/redis/open-redis.ts';
import { type RedisGroup, startRedisGroup } from '../../e2e/redis/start-redis-group.ts';
import { type RedisServer, startRedis } from '../../e2e/redis/start-redis.ts';
import { locateState, openState } from '#local/state-folder';
import { generatedSecret } from '#local/generated-secrets';
import { writeAllocations } from '#local/allocate-ports';
import { takeLock } from '#local/lock';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';
import { KEY_KINDS } from './own-keys.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operate/storage-schema.md'), 'utf8');
const PREFIX = 'vmcp:default/tools:';
/** A key of each kind. */
const keysBelow = (prefix: string) => KEY_KINDS.map((kind) => `${prefix}${kind}${kind.endsWith(':') ? 'a-b_1' : ''}`);

let home: OwnHome;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.close());

const purge = (args: string[], input?: string) => home.vmcp(['purge', ...args], input);

function manifest(storage: string, name = 'tools'): string {
  return `apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: {name: ${name}}
spec:
  incomingAuth: {type: anonymous}
  config: {groupRef: dev}
  sessionStorage: ${storage}
`;
}

/** Creates the files of a server that ran, below the state folder. */
function storeFiles(server: string): string[] {
  const state = locateState(home.state);
  openState(state);
  const kept = (['sealing', 'statusToken', 'signingKey', 'hmacSecret'] as const).map((which) => {
    generatedSecret(state, 'default', server, which);
    return which === 'sealing' || which === 'statusToken'
      ? join(state.generated, 'default', server)
      : join(state.logins, 'default', server);
  });
  writeFileSync(join(state.logins, 'default', server, 'logins.sqlite'), '');
  return [...new Set(kept)];
}

describe('KEY_KINDS', () => {
  it('equals the key kinds of the docs page', () => {
    const table = PAGE.slice(PAGE.indexOf('## Keys in Redis'), PAGE.indexOf('## The user in Redis'));
    const documented = [...table.matchAll(/^\| `([a-z-]+:?)`/gm)].map(([, kind]) => kind);
    expect([...KEY_KINDS].sort()).toEqual(documented.sort());
  });
});

describe('vmcp purge on one machine', () => {
  it('rejects standard input for two files', async () => {
    const flags = ['--redis-address', '127.0.0.1:1', '--tls', '--password-file', '-', '--ca-file', '-', '--yes'];
    const { code, err } = await purge(['demo', ...flags], 'a password');
    expect([code, err]).toEqual([2, expect.stringMatching(/--password-file and --ca-file are both -.*name a file/)]);
  });

  it('deletes files, keys and identity of a deleted server, and of no other server', async () => {
    const [gone, other] = [storeFiles('demo'), storeFiles('demo-2')];
    const state = locateState(home.state);
    const uids = { 'default/demo': 'u1', 'default/demo-2': 'u2', 'team/demo': 'u3' };
    writeAllocations(state, { slots: {}, privatePlaces: {}, backendPlaces: {}, uids });
    const shown = await purge(['demo', '--dry-run', '-o', 'json']);
    expect(shown.code).toBe(0);
    expect((JSON.parse(shown.out) as { what: string }[]).filter(({ what }) => what === 'file')).toHaveLength(5);
    expect(gone.every((folder) => existsSync(folder))).toBe(true);
    expect(await purge(['demo', '--yes'])).toMatchObject({
      code: 0,
      err: expect.stringContaining('0 keys and 5 files'),
    });
    expect(gone.some((folder) => existsSync(folder))).toBe(false);
    expect(other.every((folder) => existsSync(folder))).toBe(true);
    const { uids: left } = JSON.parse(readFileSync(state.allocations, 'utf8')) as { uids: object };
    expect(left).toEqual({ 'default/demo-2': 'u2', 'team/demo': 'u3' });
    expect(existsSync(state.lock)).toBe(false);
  });

  it('reports an unknown server with the remedy', async () => {
    expect(await purge(['demo', '--yes'])).toMatchObject({ code: 6, err: expect.stringContaining('--redis-address') });
  });

  it('refuses an existing server without --force, and one of unknown state', async () => {
    storeFiles('tools');
    writeFileSync(join(home.folder, 'tools.yaml'), manifest('{}'));
    const refused = await purge(['tools', '--yes']);
    expect(refused).toMatchObject({ code: 7, err: expect.stringMatching(/tools\.yaml:1.*--force/) });
    expect((await purge(['tools', '--dry-run'])).code).toBe(0);
    expect((await purge(['tools', '--yes', '--force'])).code).toBe(0);
    storeFiles('demo');
    writeFileSync(join(home.folder, 'broken.yaml'), 'kind: [');
    expect(await purge(['demo', '--yes'])).toMatchObject({ code: 7, err: expect.stringContaining('broken.yaml:1') });
  });

  it('asks for confirmation, and changes nothing without a terminal', async () => {
    const [folder = ''] = storeFiles('demo');
    expect(await purge(['demo'])).toMatchObject({ code: 2, err: expect.stringContaining('write --yes') });
    expect(existsSync(folder)).toBe(true);
  });

  it('keeps the keys of a running server, which needs them', async () => {
    storeFiles('tools');
    writeFileSync(join(home.folder, 'tools.yaml'), manifest('{}'));
    const giveBack = takeLock(locateState(home.state), home.folder, '');
    try {
      expect(await purge(['tools', '--yes'])).toMatchObject({ code: 7, err: expect.stringContaining('runs here') });
      expect((await purge(['tools', '--yes', '--force'])).code).toBe(0);
      expect(existsSync(join(home.state, 'logins/default/tools/signing-key.pem'))).toBe(true);
    } finally {
      giveBack();
    }
  });

  it.each([
    [['Tools'], 'no server'],
    [['MCPGroup/dev'], 'no server'],
    [['MCPServer/a/b'], 'no server'],
    [['demo', '-n', '../../operator'], 'namespace'],
    [['demo', '--redis-address', '127.0.0.1:1', '127.0.0.1:2'], '--sentinel-master'],
    [['demo', '--sentinel-master', 'x'], '--redis-address'],
    [['demo', '--redis-address', '127.0.0.1:1', '--key-prefix', ''], '--key-prefix'],
    [['demo', '--redis-address', '127.0.0.1:1', '--username', 'x'], '--password-file'],
    [['demo', '--redis-address', '127.0.0.1:1', '--ca-file', 'x'], '--tls'],
    [['demo', '--redis-address', 'redis://127.0.0.1:1'], 'write host:port'],
    [['demo', '--db', 'x'], 'Write a number'],
  ])('rejects %j as wrong usage', async (args, message) => {
    expect(await purge([...args, '--yes'])).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

describeWithRedis('vmcp purge in Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    const user = /^user purge [^`]*?(?=\n```)/m.exec(PAGE)?.[0].replaceAll(/\s*\\?\n\s*/g, ' ') ?? '';
    const documented = user.replaceAll('vmcp:team/tools:', PREFIX).replace('>PASSWORD', '>secret');
    redis = await startRedis({
      lines: [documented, 'user narrow on >secret ~* -@all +get', 'user all on >secret ~* +@all'],
    });
  });
  afterAll(() => redis.stop());
  beforeEach(() => redis.command('FLUSHALL'));

  const store = (keys: string[], server = redis) => server.command('MSET', ...keys.flatMap((key) => [key, 'x']));
  const left = async (server = redis) => ((await server.command('KEYS', '*')) as string[]).sort();
  const file = (text: string) => {
    const path = join(home.path, 'password');
    writeFileSync(path, `${text}\n`);
    return path;
  };
  const at = (...more: string[]) => ['--redis-address', redis.address, ...more];

  it('deletes any number of keys of a deleted server, and none of another server', async () => {
    const foreign = [
      ...keysBelow('vmcp:default/tools-2:'),
      ...keysBelow('vmcp:default2/tools:'),
      ...keysBelow('xvmcp:default/tools:'),
      `${PREFIX}cache:1`,
      `${PREFIX}remote:cache:1`,
      `${PREFIX}session:`,
      'vmcp:default/tools',
    ];
    const many = Array.from({ length: 5000 }, (_, i) => `${PREFIX}session:s${i}`);
    const remote = keysBelow(`${PREFIX}remote:`);
    await store([...keysBelow(PREFIX), ...remote, ...foreign, ...many]);
    const shown = await purge(['tools', '--dry-run', '-o', 'json', ...at()]);
    const amounts = JSON.parse(shown.out) as { what: string; count: number }[];
    expect(amounts).toHaveLength(KEY_KINDS.length);
    expect(amounts.find(({ what }) => what === 'session')?.count).toBe(5002);
    expect(await purge(['tools', '--yes', ...at()])).toMatchObject({
      code: 0,
      err: expect.stringContaining(`deleted ${5000 + 2 * KEY_KINDS.length} keys`),
    });
    expect(await left()).toEqual(foreign.sort());
  });

  it.each(['[ab]*?\\:', '{team}:tools*', 'a^-]b:', 'ünï:'])(
    'uses the prefix %s literally, not as a pattern',
    async (prefix) => {
      const foreign = [
        'axx:session:1',
        'b::session:1',
        'xteamytools:session:1',
        '{team}:toolsx:session:1',
        'session:1',
      ];
      await store([...keysBelow(prefix), ...foreign]);
      expect((await purge(['tools', '--yes', ...at('--key-prefix', prefix)])).code).toBe(0);
      expect(await left()).toEqual(foreign.sort());
    },
  );

  it('finds Redis, database and password in the manifest of an existing server with --force', async () => {
    const user =
      'aclUserConfig: {usernameSecretRef: {name: redis, key: user}, passwordSecretRef: {name: redis, key: password}}';
    const secret = (password: string) => `---
apiVersion: v1
kind: Secret
metadata: {name: redis}
stringData: {user: all, password: "${password}\\n"}
`;
    const written = manifest(`{provider: redis, redis: {addr: "${redis.address}", db: 3, ${user}}}`);
    const opened = await openRedis({ addr: redis.address, db: 3, key_prefix: PREFIX });
    await opened.put('ticket', 'x', { sub: 'ann', provider: 'git' }, { lifespan: 60_000 });
    await opened.close();
    writeFileSync(join(home.folder, 'tools.yaml'), `${written}${secret('wrong')}`);
    expect((await purge(['tools', '--yes', '--force'])).code).toBe(8);
    writeFileSync(join(home.folder, 'tools.yaml'), `${written}${secret('secret')}`);
    const { code, err } = await purge(['tools', '--yes', '--force']);
    expect([code, err]).toEqual([0, expect.stringContaining('deleted 2 keys')]);
    writeFileSync(join(home.folder, 'tools.yaml'), written);
    expect(await purge(['tools', '--yes', '--force'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Secret redis\/.*--password-file/),
    });
  });

  it('keeps the keys below a longer prefix of another server, and all keys if two servers share a prefix', async () => {
    const storage = (prefix: string) => `{provider: redis, address: "${redis.address}", keyPrefix: "${prefix}"}`;
    writeFileSync(join(home.folder, 'other.yaml'), manifest(storage(`${PREFIX}user:`), 'other'));
    // A key of this server may have the same form as those of the other server.
    const others = [...keysBelow(`${PREFIX}user:`), `${PREFIX}user:a-b_1`];
    await store([...keysBelow(PREFIX), ...others]);
    expect((await purge(['tools', '--yes', ...at()])).code).toBe(0);
    expect(await left()).toEqual(others.sort());
    await store(keysBelow('shared:'));
    writeFileSync(join(home.folder, 'other.yaml'), manifest(storage('shared:'), 'other'));
    const shared = await purge(['tools', '--yes', '--force', ...at('--key-prefix', 'shared:')]);
    expect(shared).toMatchObject({ code: 7, err: expect.stringContaining('default/other') });
    expect(await left()).toEqual([...others, ...keysBelow('shared:')].sort());
    const elsewhere = ['tools', '--yes', '--redis-address', `localhost:${redis.port}`, '--key-prefix', 'shared:'];
    expect(await purge(elsewhere)).toMatchObject({ code: 7, err: expect.stringContaining('--force') });
    expect((await purge([...elsewhere, '--force'])).code).toBe(0);
    expect(await left()).toEqual(others.sort());
  });

  it('works as the user from the docs page, and reports missing permissions of another user', async () => {
    await store([...keysBelow(PREFIX), 'vmcp:default/other:session:1']);
    const narrow = at('--username', 'narrow', '--password-file', file('secret'));
    expect(await purge(['tools', '--yes', ...narrow])).toMatchObject({
      code: 8,
      err: expect.stringContaining('+scan'),
    });
    const wrong = await purge(['tools', '--yes', ...at('--username', 'purge', '--password-file', file('not-it'))]);
    expect(wrong).toMatchObject({ code: 8 });
    expect(wrong.err).not.toContain('not-it');
    const right = at('--username', 'purge', '--password-file', file('secret'));
    expect((await purge(['tools', '--yes', ...right])).code).toBe(0);
    expect(await left()).toEqual(['vmcp:default/other:session:1']);
  });

  it('ends within the timeout, and reports its progress', async () => {
    await store(Array.from({ length: 20_000 }, (_, i) => `${PREFIX}session:s${i}`));
    expect(await purge(['tools', '--yes', '--timeout', '1ms', ...at()])).toMatchObject({
      code: 5,
      err: expect.stringContaining('goes on with the rest'),
    });
  });

  it('prints the remedy for an unreachable Redis', async () => {
    expect(await purge(['tools', '--yes', '--redis-address', '127.0.0.1:1'])).toMatchObject({
      code: 5,
      err: expect.stringMatching(/127\.0\.0\.1:1.*ECONNREFUSED.*--redis-address/),
    });
  });

  it('uses TLS with the original host name, also through a forwarded port', async () => {
    const certificates = makeCertificates();
    const server = await startRedis({ certificates });
    try {
      const through = ['--redis-address', `127.0.0.2:${server.port}`, '--tls', '--ca-file', certificates.caFile];
      const tls = ['--redis-address', server.address, '--tls', '--ca-file', certificates.caFile];
      expect((await purge(['tools', '--dry-run', ...tls])).code).toBe(0);
      expect((await purge(['tools', '--dry-run', ...tls, '--tls-name', 'redis.example'])).code).toBe(5);
      expect((await purge(['tools', '--dry-run', ...tls, '--tls-name', 'localhost'])).code).toBe(0);
      expect((await purge(['tools', '--dry-run', '--redis-address', server.address, '--tls'])).code).toBe(5);
      expect((await purge(['tools', '--dry-run', ...through])).code).toBe(5);
      writeFileSync(join(home.folder, 'tools.yaml'), manifest('{provider: redis, address: "redis.example:6379"}'));
      expect((await purge(['tools', '--dry-run', ...tls])).code).toBe(5);
      expect((await purge(['tools', '--dry-run', ...tls, '--tls-name', 'localhost'])).code).toBe(0);
    } finally {
      await server.stop();
      certificates.remove();
    }
  });

  describe('vmcp purge behind Sentinels', () => {
    let group: RedisGroup;
    beforeAll(async () => {
      group = await startRedisGroup();
    }, 60_000);
    afterAll(() => group.stop());

    it('deletes at the current master, also after a failover', async () => {
      const where = ['--redis-address', ...group.sentinels, '--sentinel-master', group.masterName];
      await store(keysBelow(PREFIX), group.master);
      expect((await purge(['tools', '--yes', ...where])).code).toBe(0);
      expect(await left(group.master)).toEqual([]);
      await store(keysBelow(PREFIX), group.master);
      await group.replicated();
      await group.killMaster();
      await group.failedOver();
      expect((await purge(['tools', '--yes', ...where])).code).toBe(0);
      expect(await left(group.replica)).toEqual([]);
    }, 60_000);
  });
});
