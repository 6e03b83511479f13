import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type AuthStorage, StorageUnavailable } from '#runtime/authserver/storage/storage';
import { type Certificates, makeCertificates } from './make-certificates.ts';
import { openRedis } from './open-redis.ts';
import { describeWithRedis } from './redis-programs.ts';
import { until } from '../gateway/until.ts';
import { type RedisServer, startRedis } from './start-redis.ts';

const MASTER_NAME = 'tools';
const times = { dial_timeout: '1s', read_timeout: '1s' };

async function worksWith(config: object, files: Record<string, string> = {}): Promise<boolean> {
  const storage = await openRedis({ ...times, ...config }, files);
  try {
    return await storage.count('bucket', 1_000).then(
      () => true,
      (error: unknown) => {
        expect(error).toBeInstanceOf(StorageUnavailable);
        return false;
      },
    );
  } finally {
    await storage.close();
  }
}

describeWithRedis('the connection to Redis', () => {
  let own: Certificates | undefined;
  let foreign: Certificates | undefined;
  const servers: RedisServer[] = [];
  const start = async (options: Parameters<typeof startRedis>[0]): Promise<RedisServer> => {
    const server = await startRedis(options);
    servers.push(server);
    return server;
  };
  beforeAll(() => {
    own = makeCertificates();
    foreign = makeCertificates();
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    own?.remove();
    foreign?.remove();
  });
  const trust = { ca_cert_file: 'ca' };
  const trusted = () => ({ ca: own!.ca, foreign: foreign!.ca });

  it('uses TLS if configured, and only with a trusted certificate', async () => {
    const { address } = await start({ certificates: own! });
    expect(await worksWith({ addr: address, tls: trust }, trusted())).toBe(true);
    expect(await worksWith({ addr: address, tls: { ca_cert_file: 'foreign' } }, trusted())).toBe(false);
    expect(await worksWith({ addr: address, tls: {} })).toBe(false);
    expect(await worksWith({ addr: address })).toBe(false);
    expect(await worksWith({ addr: address, tls: { insecure_skip_verify: true } })).toBe(true);
  });

  it('uses TLS to Redis and to the Sentinels independently', async () => {
    const plain = await start({});
    const secured = await start({ certificates: own! });
    const sentinelOf = (master: RedisServer, lines: string[], certificates?: Certificates) =>
      start({
        program: 'redis-sentinel',
        lines: [...lines, `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} 1`],
        ...(certificates && { certificates }),
      });
    const { certFile, keyFile, caFile } = own!;
    const files = [`tls-cert-file ${certFile}`, `tls-key-file ${keyFile}`, `tls-ca-cert-file ${caFile}`];
    const toSecured = ['tls-replication yes', 'tls-auth-clients no', ...files];
    const cases = [
      { sentinel: await sentinelOf(plain, []), config: {} },
      { sentinel: await sentinelOf(plain, [], own), config: { sentinel_tls: trust } },
      { sentinel: await sentinelOf(secured, toSecured), config: { tls: trust } },
      { sentinel: await sentinelOf(secured, toSecured, own), config: { tls: trust, sentinel_tls: trust } },
    ];
    const found = cases.map(({ sentinel, config }) => {
      const sentinel_config = { master_name: MASTER_NAME, sentinel_addrs: ['127.0.0.1:1', sentinel.address] };
      return worksWith({ sentinel_config, ...config }, trusted());
    });
    expect(await Promise.all(found)).toEqual([true, true, true, true]);
    const sentinel_config = { master_name: MASTER_NAME, sentinel_addrs: [cases[3]!.sentinel.address] };
    expect(await worksWith({ sentinel_config, tls: trust }, trusted())).toBe(false);
    expect(await worksWith({ sentinel_config, sentinel_tls: trust }, trusted())).toBe(false);
  });

  it('leads to the database configured beside the Sentinels, and skips certificate checks if configured', async () => {
    const master = await start({});
    const monitor = `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} 1`;
    const sentinel = await start({ program: 'redis-sentinel', lines: [monitor], certificates: own! });
    const sentinel_config = { master_name: MASTER_NAME, sentinel_addrs: [sentinel.address], db: 2 };
    const unchecked = { ...times, sentinel_config, sentinel_tls: { insecure_skip_verify: true } };
    const storage = await openRedis(unchecked);
    await storage.put('ticket', 'x', { sub: 'ann', provider: 'git' }, { lifespan: 60_000 });
    await storage.close();
    const at = async (db: number) => {
      const direct = await openRedis({ addr: master.address, db });
      const row = await direct.get('ticket', 'x');
      await direct.close();
      return row;
    };
    expect(await at(0)).toBeUndefined();
    expect(await at(2)).toEqual({ sub: 'ann', provider: 'git' });
  });

  it('needs the right password, and takes a new one from its file later', async () => {
    const server = await start({ lines: ['user vmcp on >first ~* +@all'] });
    const acl_user_config = { username_file: 'user', password_file: 'password' };
    const secrets = { user: 'vmcp', password: 'wrong' };
    const storage: AuthStorage = await openRedis({ ...times, addr: server.address, acl_user_config }, secrets);
    await expect(storage.count('bucket', 1_000)).rejects.toThrow(StorageUnavailable);
    secrets.password = 'first';
    await until('the right password', async () => (await storage.count('bucket', 1_000)) > 0);
    await server.command('ACL', 'SETUSER', 'vmcp', 'resetpass', '>second');
    secrets.password = 'second';
    await server.command('CLIENT', 'KILL', 'USER', 'vmcp');
    await until('the new password', async () => (await storage.count('bucket', 1_000)) > 0);
    await storage.close();
  });

  it('separates databases of one Redis', async () => {
    const { address } = await start({});
    const [first, second] = [await openRedis({ addr: address }), await openRedis({ addr: address, db: 1 })];
    await first.put('ticket', 'x', { sub: 'ann', provider: 'git' }, { lifespan: 60_000 });
    expect(await second.get('ticket', 'x')).toBeUndefined();
    expect(await first.get('ticket', 'x')).toBeDefined();
    await first.close();
    await second.close();
  });
});
