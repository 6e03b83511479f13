import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { makeKey, sign, startIssuer } from '#runtime/incoming/testdata/fake-issuer';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { sendModern, type Reply, type Rpc } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo } from '../relay/gateway-to.ts';
import { describeWithRedis } from './redis-programs.ts';
import { replicaOf, sharedIn, SHORT_DEADLINES } from './replicas.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

type RateLimits = NonNullable<RunConfigDocument['rate_limiting']>;

/** So long that no token refills during a test. */
const HOUR = '1h';
/** The rights that docs/operate/storage-schema.md documents as enough. */
const RIGHTS =
  'resetkeys ~vmcp:team/* resetchannels &vmcp:team/* -@all +evalsha +eval +get +set +del +exists +incr +pttl +pexpire +pexpireat +hget +hgetall +hset +hmget +hdel +hvals +zadd +zrem +zscore +zcount +zcard +zrange +zrangebyscore +zremrangebyscore +zscan +time +wait +info +select +publish +subscribe +ping';

const call = ({ url }: ServedGateway, headers: Record<string, string> = {}, name = 'one_tool_0') =>
  sendModern(url, 'tools/call', { name, arguments: { text: 'x' } }, headers);
const told = ({ status, answer }: Reply) => (answer.result ? 'passed' : status);
const count = (seen: readonly unknown[], wanted: unknown) => seen.filter((one) => one === wanted).length;

describeWithRedis('rate limits of several replicas', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis({ lines: [`user vmcp on >secret ${RIGHTS}`] });
  });
  afterAll(() => redis?.stop());
  /** With the documented rights, and deadlines long enough for a slow machine. */
  const shared = () => {
    const acl_user_config = { username_file: 'user', password_file: 'password' };
    const { settings, files } = sharedIn({ addr: redis!.address, acl_user_config, read_timeout: '20s' });
    return { settings, files: { ...files, user: 'vmcp', password: 'secret' } };
  };
  const arrange = async (rate_limiting: RateLimits, more: Partial<RunConfigDocument> = {}) => {
    const sharing = shared();
    const backend = closing(await servePlain({ tools: 2 }));
    const open = () => replicaOf(sharing, { one: backend.url }, { rate_limiting, ...more });
    const calls = () => backend.counts.get('tools/call') ?? 0;
    return { open, calls, replicas: [await open(), await open()] as const };
  };
  const keys = async () => ((await redis!.command('KEYS', '*rate:*')) as string[]).sort();

  it('share one budget: parallel calls to both pass exactly up to the limit', async () => {
    const { replicas, calls } = await arrange({
      rules: [
        { requests: 20, per: HOUR, scope: 'global' },
        { requests: 1000, per: HOUR, scope: 'user' },
      ],
    });
    const seen = (await Promise.all(Array.from({ length: 40 }, (_, at) => call(replicas[at % 2] ?? replicas[0])))).map(
      told,
    );
    expect([count(seen, 'passed'), count(seen, 429), calls()]).toEqual([20, 20, 20]);
  });

  it('outlive a replica, and apply to later replicas', async () => {
    const { open, replicas } = await arrange({ shared: { max_tokens: 3, refill_period: HOUR } });
    for (const one of [0, 1, 0] as const) expect(told(await call(replicas[one]))).toBe('passed');
    await replicas[0].runtime.stop();
    const { status, headers, answer } = await call(await open());
    expect([status, Number(headers['retry-after'])]).toEqual([429, answer.error?.data?.retryAfter]);
    expect(Number(headers['retry-after'])).toBeGreaterThan(1000);
  });

  it('count users by hashed keys that expire', async () => {
    const key = await makeKey('k');
    const issuer = closing(await startIssuer([key.jwk]));
    const before = new Set(await keys());
    const { replicas } = await arrange(
      { per_user: { max_tokens: 2, refill_period: HOUR } },
      { incoming: { type: 'oidc', issuer: issuer.issuer, audience: 'vmcp', jwks_allow_private_ip: true } },
    );
    const now = Math.floor(Date.now() / 1000);
    const bearer = async (sub: string) => ({
      authorization: `Bearer ${await sign({ iss: issuer.issuer, aud: 'vmcp', sub, iat: now, exp: now + 600 }, key)}`,
    });
    const [ann, bob] = [await bearer('ann-of-sales'), await bearer('bob')];
    const seen = [];
    for (const headers of [ann, ann, bob, ann])
      for (const replica of replicas) seen.push(told(await call(replica, headers)));
    expect(seen).toEqual(['passed', 'passed', 429, 429, 'passed', 'passed', 429, 429]);
    const counted = (await keys()).filter((one) => !before.has(one));
    expect(counted).toHaveLength(2);
    for (const one of counted) {
      expect(one).toMatch(/^vmcp:team\/[0-9a-f]+:rate:[\w-]{43}$/);
      expect(Number(await redis!.command('PTTL', one))).toBeGreaterThan(3_000_000);
      expect(Number(await redis!.command('PTTL', one))).toBeLessThanOrEqual(3_600_000);
    }
  });

  it('count running requests on the connection where they began, and close it after a move to another one', async () => {
    const held: (() => void)[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          const { id, method } = JSON.parse(body || '{}') as Rpc;
          if (method !== 'tools/list' || !body.includes('"sampling"')) return false;
          const result = { resultType: 'complete', tools: [{ name: 'tool_0', inputSchema: { type: 'object' } }] };
          const answer = JSON.stringify({
            jsonrpc: '2.0',
            id,
            result: { ...result, ttlMs: 1000, cacheScope: 'public' },
          });
          held.push(() => response.writeHead(200, { 'content-type': 'application/json' }).end(answer));
          return true;
        },
      }),
    );
    const more = {
      rate_limiting: { rules: [{ requests: 9, per: HOUR, scope: 'global' as const }] },
      limits: { list_deadline: '50s' },
    };
    const [before, after] = [shared(), shared()];
    const gateway = await replicaOf(before, { one: backend.url }, more);
    const connections = async () => String(await redis!.command('CLIENT', 'LIST')).split(' user=vmcp ').length - 1;
    const hasItsOwn = () => until('its connections alone', async () => (await connections()) === 3);
    await hasItsOwn();
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } };
    // The tool list comes before the count, so the call runs before it is counted.
    const params = { name: 'one_tool_0', arguments: { text: 'x' }, _meta };
    const answered = sendModern(gateway.url, 'tools/call', params);
    await until('the list', () => held.length === 1);
    await gateway.reconfigure(configTo({ one: backend.url }, { ...after.settings, ...more }));
    held.splice(0).forEach((answer) => answer());
    expect(told(await answered)).toBe('passed');
    await hasItsOwn();
    expect(told(await call(gateway))).toBe('passed');
  });

  it('wait at most one period if the clock of Redis goes back', async () => {
    const before = new Set(await keys());
    const { replicas } = await arrange({ shared: { max_tokens: 1, refill_period: '2s' } });
    expect(told(await call(replicas[0]))).toBe('passed');
    const [key = ''] = (await keys()).filter((one) => !before.has(one));
    const inADay = Date.now() + 86_400_000;
    await redis!.command('SET', key, `1 ${inADay}`, 'PX', '86400000');
    expect(told(await call(replicas[0]))).toBe(429);
    await until('an allowed call', async () => told(await call(replicas[1])) === 'passed');
    expect(Number(await redis!.command('PTTL', key))).toBeLessThanOrEqual(2_000);
  });
});

describeWithRedis('rate limits during a Redis outage', () => {
  const servers: RedisServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });
  const start = async (port?: number) => {
    const server = await startRedis(port === undefined ? {} : { port });
    servers.push(server);
    return server;
  };
  const replica = async (redis: RedisServer, rules: RateLimits['rules']) => {
    const backend = closing(await servePlain({ tools: 2 }));
    const shared = sharedIn({ addr: redis.address, ...SHORT_DEADLINES });
    return replicaOf(shared, { one: backend.url }, { rate_limiting: { rules } });
  };

  it('refuse with 503 and Retry-After, pass calls whose rules all say so, and count again after the outage', async () => {
    const redis = await start();
    const rule = { requests: 1, per: HOUR, scope: 'global', on_store_failure: 'open' } as const;
    const closed = { ...rule, on_store_failure: 'closed', tool: 'one_tool_1' } as const;
    const gateway = await replica(redis, [rule, closed]);
    const ask = (tool: number) => call(gateway, {}, `one_tool_${tool}`);
    expect(told(await ask(0))).toBe('passed');
    expect(told(await ask(0))).toBe(429);
    await redis.kill();
    await until('calls that pass uncounted', async () => told(await ask(0)) === 'passed');
    const refused = await ask(1);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.answer.error).toMatchObject({ code: -32603, data: { retryAfter: 1, scope: 'global' } });
    await start(redis.port);
    await until('calls that are counted', async () => told(await ask(0)) === 429);
    expect(gateway.log()).toMatch(/requests cannot be counted.*\n(.*\n)*.*requests are counted again/);
    expect(gateway.log().match(/requests cannot be counted/g)).toHaveLength(1);
  });

  it('refuse a user without tokens by themselves, so that a flood of one user does not reach Redis', async () => {
    const redis = await start();
    const gateway = await replica(redis, [{ requests: 1, per: HOUR, scope: 'user' }]);
    expect(told(await call(gateway))).toBe('passed');
    expect(told(await call(gateway))).toBe(429);
    redis.freeze();
    for (let one = 0; one < 5; one++) expect(told(await call(gateway))).toBe(429);
    redis.thaw();
  });

  it('decide within the read timeout if Redis hangs', async () => {
    const redis = await start();
    const gateway = await replica(redis, [{ requests: 9, per: HOUR, scope: 'global' }]);
    expect(told(await call(gateway))).toBe('passed');
    redis.freeze();
    const began = performance.now();
    expect(told(await call(gateway))).toBe(503);
    expect(told(await call(gateway))).toBe(503);
    // The timeout is half a second. Without it, a call waits as long as its client.
    expect(performance.now() - began).toBeLessThan(15_000);
    redis.thaw();
    await until('calls that are counted', async () => told(await call(gateway)) === 'passed');
  });
});
