import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type AuthStorage, StorageUnavailable } from '#runtime/authserver/storage/storage';
import { codeOf, linkOf, sessionOf } from '../../runtime/authserver/storage/contract/opened.contract.ts';
import { openRedis } from '../redis/open-redis.ts';
import { describeWithRedis } from '../redis/redis-programs.ts';
import { type RedisGroup, startRedisGroup } from '../redis/start-redis-group.ts';
import { until } from '../gateway/until.ts';

const SESSIONS = 40;
const lifespan = 600_000;
const rotation = { clientId: 'client-1', kid: 'k1', grace: 30_000, lifespan };

/** A client that refreshes repeatedly, and retries with the same token after 503. */
interface Refresher {
  readonly key: string;
  gen: number;
  refused: number;
  /** Outcomes other than a successor or 503. */
  lost: unknown[];
}

async function refreshUntil(stopped: () => boolean, storage: AuthStorage, client: Refresher): Promise<void> {
  while (!stopped()) {
    try {
      const rotated = await storage.rotateSession(client.key, { ...rotation, gen: client.gen });
      if (rotated.outcome !== 'rotated') client.lost.push(rotated);
      else client.gen = rotated.session.gen;
    } catch (error) {
      if (error instanceof StorageUnavailable) client.refused += 1;
      else client.lost.push(error);
    }
    await sleep(10);
  }
}

describeWithRedis('a failover', () => {
  let group: RedisGroup | undefined;
  let storage: AuthStorage | undefined;
  let clients: Refresher[] = [];
  let stop = (): void => undefined;
  let stopped: Promise<unknown> = Promise.resolve();

  beforeEach(async () => {
    group = await startRedisGroup();
    const sentinel_config = { master_name: group.masterName, sentinel_addrs: group.sentinels };
    storage = await openRedis({ sentinel_config, dial_timeout: '1s', read_timeout: '500ms' });
    clients = Array.from({ length: SESSIONS }, (_, index) => ({ key: `s${index}`, gen: 0, refused: 0, lost: [] }));
    for (const { key } of clients) await logIn(storage, key);
  });
  afterEach(async () => {
    stop();
    await stopped;
    await storage?.close();
    await group?.stop();
  });

  async function logIn(to: AuthStorage, key: string): Promise<void> {
    const sub = `user of ${key}`;
    const code = { id: `code of ${key}`, row: codeOf(sub), lifespan };
    await to.finishLogin({ sub, links: { git: linkOf(sub) }, code, lifespan });
    await to.redeemCode(code.id, { key, row: sessionOf(sub, Date.now()), lifespan });
  }

  function startRefreshing(to: AuthStorage): void {
    let isOver = false;
    stop = () => {
      isOver = true;
    };
    stopped = Promise.all(clients.map((client) => refreshUntil(() => isOver, to, client)));
  }

  const allHaveRefreshed = (times: number): Promise<void> => {
    const before = clients.map(({ gen }) => gen);
    return until('refreshes', () => Promise.resolve(clients.every(({ gen }, i) => gen >= (before[i] ?? 0) + times)));
  };
  const generationAt = async (server: RedisGroup['replica'], key: string): Promise<number> =>
    Number(await server.command('HGET', `vmcp:test/tools:session:${key}`, 'gen'));

  async function expectNothingLost(from: AuthStorage): Promise<void> {
    expect(clients.flatMap(({ lost }) => lost)).toEqual([]);
    expect(await from.sizes()).toMatchObject({ sessions: SESSIONS, links: SESSIONS });
    for (const { key, gen } of clients) expect(await from.getSession(key)).toMatchObject({ gen });
  }

  it('loses none of forty refreshing sessions, and causes only some seconds of 503', async () => {
    startRefreshing(storage!);
    await allHaveRefreshed(5);
    const begin = performance.now();
    await group!.killMaster();
    await group!.failedOver();
    await allHaveRefreshed(5);
    expect(performance.now() - begin).toBeLessThan(30_000);
    stop();
    await stopped;
    expect(clients.every(({ refused }) => refused > 0)).toBe(true);
    await expectNothingLost(storage!);
    expect(storage!.unacknowledged).toBe(0);
    // Each connection has one listener for the next failover; those of former connections are closed.
    for (const sentinel of group!.sentinelServers) {
      const listeners = String(await sentinel.command('CLIENT', 'LIST', 'TYPE', 'pubsub'));
      expect(listeners.match(/ cmd=subscribe /g)).toHaveLength(2);
    }
  });

  it('loses no session after a second without replication: newer tokens than the stored ones are valid', async () => {
    startRefreshing(storage!);
    await allHaveRefreshed(5);
    await group!.cutReplication();
    await sleep(1_000);
    await group!.killMaster();
    const ahead = await Promise.all(
      clients.map(async ({ key, gen }) => gen - (await generationAt(group!.replica, key))),
    );
    expect(Math.min(...ahead)).toBeGreaterThan(2);
    await group!.failedOver();
    await allHaveRefreshed(5);
    stop();
    await stopped;
    await expectNothingLost(storage!);
  });

  it('takes effect while the old master hangs, which is not used when it returns', async () => {
    startRefreshing(storage!);
    await allHaveRefreshed(2);
    group!.master.freeze();
    await group!.failedOver();
    await allHaveRefreshed(5);
    group!.master.thaw();
    await allHaveRefreshed(20);
    stop();
    await stopped;
    await expectNothingLost(storage!);
    for (const { key, gen } of clients) expect(await generationAt(group!.replica, key)).toBe(gen);
  });

  it('takes effect on a Sentinel command, without a refusal by the old master', async () => {
    startRefreshing(storage!);
    await allHaveRefreshed(2);
    await group!.sentinelServers[0]!.command('SENTINEL', 'FAILOVER', group!.masterName);
    await group!.failedOver();
    await allHaveRefreshed(5);
    stop();
    await stopped;
    await expectNothingLost(storage!);
  });

  it('succeeds with one Sentinel gone', async () => {
    await group!.sentinelServers[0]!.kill();
    startRefreshing(storage!);
    await group!.killMaster();
    await until('a storage that works', async () => (await storage!.count('bucket', 10)) > 0);
    await allHaveRefreshed(5);
    stop();
    await stopped;
    await expectNothingLost(storage!);
  });
});
