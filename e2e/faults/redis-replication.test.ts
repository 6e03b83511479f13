import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type AuthStorage, StorageUnavailable } from '#runtime/authserver/storage/storage';
import { codeOf, linkOf, sessionOf } from '../../runtime/authserver/storage/contract/opened.contract.ts';
import { openRedis } from '../redis/open-redis.ts';
import { describeWithRedis } from '../redis/redis-programs.ts';
import { until } from '../gateway/until.ts';
import { type RedisServer, startRedis } from '../redis/start-redis.ts';

const lifespan = 60_000;
/** Limit of WAIT. */
const WAIT_MS = 100;
/** Extra time for a busy machine. */
const PAUSE_MS = 2_500;
/** So many sequential calls that such a pause is short compared with their timeouts. */
const CALLS = 100;

async function took(ask: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await ask();
  return performance.now() - begin;
}

/** Repeats a refused call, as a client does. */
async function orLater<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const answers: Answer[] = [];
  await until('an acknowledgement', async () => answers.push(await ask()) > 0);
  return answers[0]!;
}

describeWithRedis('a write that must outlive a failover', () => {
  let master: RedisServer | undefined;
  let replica: RedisServer | undefined;
  let storage: AuthStorage | undefined;
  let codes = 0;

  beforeAll(async () => {
    master = await startRedis({ lines: ['repl-diskless-sync-delay 0'] });
    replica = await startRedis({ lines: [`replicaof 127.0.0.1 ${master.port}`] });
    await until('a replica', async () => String(await master!.command('INFO', 'replication')).includes('state=online'));
  });
  beforeEach(async () => {
    // A replica that was frozen needs to catch up first.
    await until('a replica that answers', async () => {
      const storage = await openRedis({ addr: master!.address });
      await storage.endSession('none');
      await storage.close();
      return storage.unacknowledged === 0;
    });
  });
  afterEach(async () => {
    replica?.thaw();
    await storage?.close();
    storage = undefined;
  });
  afterAll(async () => {
    await replica?.stop();
    await master?.stop();
  });

  const open = async (changes: object = {}): Promise<AuthStorage> => {
    storage = await openRedis({ addr: master!.address, ...changes });
    return storage;
  };
  const newCode = async (to: AuthStorage, sub = 'ann'): Promise<string> => {
    const id = `c${(codes += 1)}`;
    await to.finishLogin({ sub, links: {}, code: { id, row: codeOf(sub), lifespan }, lifespan });
    return id;
  };
  const redeem = (from: AuthStorage, id: string, sub = 'ann') =>
    from.redeemCode(id, { key: `session of ${id}`, row: sessionOf(sub, Date.now()), lifespan });
  const onReplica = (key: string) => replica!.command('EXISTS', `vmcp:test/tools:${key}`);

  it('reaches the replica before the operation returns', async () => {
    const redis = await open();
    const id = await newCode(redis);
    expect(await redeem(redis, id)).toEqual({ outcome: 'redeemed' });
    expect(await onReplica(`session:session of ${id}`)).toBe(1);
    await redis.endSession(`session of ${id}`);
    expect(await onReplica(`session:session of ${id}`)).toBe(0);
    expect(redis.unacknowledged).toBe(0);
  });

  it('succeeds without a timely acknowledgement of a replica, and is counted', async () => {
    const redis = await open();
    const id = await newCode(redis);
    await redeem(redis, await newCode(redis));
    const before = redis.unacknowledged;
    replica!.freeze();
    const waited = await took(async () => expect(await redeem(redis, id)).toEqual({ outcome: 'redeemed' }));
    expect(waited).toBeGreaterThan(WAIT_MS - 20);
    expect(waited).toBeLessThan(WAIT_MS + PAUSE_MS);
    expect(redis.unacknowledged).toBe(before + 1);
    await redis.endSession(`session of ${id}`);
    await redis.endUser('ann');
    expect(redis.unacknowledged).toBe(before + 3);
    expect(await redis.getSession(`session of ${id}`)).toBeUndefined();
  });

  it('shares one wait with concurrent writes, and delays no read', async () => {
    const redis = await open();
    const ids = await Promise.all(Array.from({ length: CALLS }, () => newCode(redis)));
    replica!.freeze();
    const all = took(() => Promise.all(ids.map((id) => redeem(redis, id))));
    const isDone = all.then(() => true);
    let reads = 0;
    do {
      await redis.getSession('none');
      reads += 1;
    } while (!(await Promise.race([isDone, sleep(1, false)])));
    // Sequential waits would take ten seconds.
    expect(await all).toBeLessThan((CALLS * WAIT_MS) / 2);
    // Behind the waits there would be one or two reads.
    expect(reads).toBeGreaterThan(3);
    expect(redis.unacknowledged).toBe(CALLS);
  });

  describe('with a required acknowledgement', () => {
    it('fails without one: nothing is issued, and the code can be redeemed later', async () => {
      const redis = await open({ require_replica_ack: true });
      const id = await newCode(redis, 'bob');
      replica!.freeze();
      await expect(redeem(redis, id, 'bob')).rejects.toThrow(StorageUnavailable);
      expect(await redis.getSession(`session of ${id}`)).toBeUndefined();
      expect(await redis.sessionsOf('bob')).toEqual([]);
      replica!.thaw();
      expect(await orLater(() => redeem(redis, id, 'bob'))).toEqual({ outcome: 'redeemed' });
      expect(await redis.sessionsOf('bob')).toEqual([`session of ${id}`]);
      expect(redis.unacknowledged).toBeGreaterThan(0);
    });

    it('ends a session without one, but reports success only with it', async () => {
      const redis = await open({ require_replica_ack: true });
      const id = await newCode(redis);
      await redeem(redis, id);
      replica!.freeze();
      await expect(redis.endSession(`session of ${id}`)).rejects.toThrow(StorageUnavailable);
      expect(await redis.getSession(`session of ${id}`)).toBeUndefined();
      await expect(redis.endSession(`session of ${id}`)).rejects.toThrow(StorageUnavailable);
      replica!.thaw();
      await orLater(() => redis.endSession(`session of ${id}`));
      expect(await onReplica(`session:session of ${id}`)).toBe(0);
    });

    it('unlinks without one, but reports success only with it', async () => {
      const redis = await open({ require_replica_ack: true });
      await redis.finishLogin({ sub: 'eve', links: { git: linkOf('eve1') }, code: undefined, lifespan });
      await until('the link', async () => (await onReplica('links:eve')) === 1);
      replica!.freeze();
      await expect(redis.unlink('eve', 'git')).rejects.toThrow(StorageUnavailable);
      await expect(redis.unlink('eve', 'git')).rejects.toThrow(StorageUnavailable);
      replica!.thaw();
      await orLater(() => redis.unlink('eve', 'git'));
      expect(await onReplica('links:eve')).toBe(0);
    });

    it('stores renewed tokens without one, as no other tokens are valid', async () => {
      const redis = await open({ require_replica_ack: true });
      await redis.finishLogin({ sub: 'eve', links: { git: linkOf('eve1') }, code: undefined, lifespan });
      const [link] = Object.values(await redis.linksOf('eve'));
      replica!.freeze();
      expect(await redis.replaceLink('eve', 'git', link!.version, linkOf('eve1', { sealed: 'k1.new.x' }))).toBe(true);
      expect(redis.unacknowledged).toBe(1);
      expect(await redis.getLink('eve', 'git')).toMatchObject({ sealed: 'k1.new.x' });
    });

    it('waits for the end of a session whose refresh token was replayed', async () => {
      const redis = await open({ require_replica_ack: true });
      const id = await newCode(redis);
      await redeem(redis, id);
      const rotation = { clientId: 'client-1', kid: 'k1', grace: 0, lifespan };
      await redis.rotateSession(`session of ${id}`, { ...rotation, gen: 0 });
      await redis.rotateSession(`session of ${id}`, { ...rotation, gen: 1 });
      const replay = () => redis.rotateSession(`session of ${id}`, { ...rotation, gen: 0 });
      replica!.freeze();
      await expect(replay()).rejects.toThrow(StorageUnavailable);
      expect(await redis.getSession(`session of ${id}`)).toBeUndefined();
    });

    it('fails at once if there is no replica', async () => {
      const alone = await startRedis();
      const redis = await openRedis({ addr: alone.address, require_replica_ack: true });
      const id = await newCode(redis);
      await redeem(redis, id).catch(() => undefined);
      const waited = await took(async () => {
        for (let call = 0; call < CALLS; call += 1) await expect(redeem(redis, id)).rejects.toThrow(StorageUnavailable);
      });
      expect(waited).toBeLessThan((CALLS * WAIT_MS) / 2);
      await redis.close();
      await alone.stop();
    });
  });

  it('returns without a wait and without a count at one Redis without replicas', async () => {
    const alone = await startRedis();
    const redis = await openRedis({ addr: alone.address });
    await redeem(redis, await newCode(redis));
    const waited = await took(async () => {
      for (let call = 0; call < CALLS; call += 1) await redeem(redis, await newCode(redis));
    });
    expect(waited).toBeLessThan((CALLS * WAIT_MS) / 2);
    expect(redis.unacknowledged).toBe(0);
    await redis.close();
    await alone.stop();
  });

  it('excludes rotation, which takes one round trip and no WAIT', async () => {
    const redis = await open();
    const id = await newCode(redis);
    await redeem(redis, id);
    const rotation = { clientId: 'client-1', kid: 'k1', grace: 0, lifespan };
    await redis.rotateSession(`session of ${id}`, { ...rotation, gen: 0 });
    await master!.command('CONFIG', 'RESETSTAT');
    for (let gen = 1; gen <= 20; gen += 1) await redis.rotateSession(`session of ${id}`, { ...rotation, gen });
    const stats = String(await master!.command('INFO', 'commandstats'));
    // Commands that a client may send and that no script calls.
    const sent = [...stats.matchAll(/^cmdstat_(evalsha|eval|wait|info|get|multi|exec):calls=(\d+)/gm)];
    expect(sent.map(([, name, calls]) => `${name} ${calls}`)).toEqual(['evalsha 20']);
  });
});
