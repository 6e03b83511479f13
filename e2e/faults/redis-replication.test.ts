import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type AuthStorage, StorageUnavailable } from '#runtime/authserver/storage/storage';
import { codeOf, linkOf, sessionOf } from '../../runtime/authserver/storage/contract/opened.contract.ts';
import { openRedis } from '../redis/open-redis.ts';
import { describeWithRedis } from '../redis/redis-programs.ts';
import { until } from '../gateway/until.ts';
import { type RedisServer, startRedis } from '../redis/start-redis.ts';

const lifespan = 60_000;
/** WAIT takes no longer. */
const WAIT_MS = 100;
/** What a busy machine may take besides. */
const PAUSE_MS = 2_500;
/** So many, one after the other, that such a pause is small beside what they would wait. */
const CALLS = 100;

async function took(ask: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await ask();
  return performance.now() - begin;
}

/** Asks again while it is refused, as a client does. */
async function orLater<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const answers: Answer[] = [];
  await until('an acknowledgement', async () => answers.push(await ask()) > 0);
  return answers[0]!;
}

describeWithRedis('what must outlive a failover', () => {
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
    // A replica that was frozen catches up first.
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

  it('is at the replica when the operation returns', async () => {
    const redis = await open();
    const id = await newCode(redis);
    expect(await redeem(redis, id)).toEqual({ outcome: 'redeemed' });
    expect(await onReplica(`session:session of ${id}`)).toBe(1);
    await redis.endSession(`session of ${id}`);
    expect(await onReplica(`session:session of ${id}`)).toBe(0);
    expect(redis.unacknowledged).toBe(0);
  });

  it('is counted when no replica acknowledges it in time, and done all the same', async () => {
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

  it('waits once for all who come together, and keeps nobody else waiting', async () => {
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
    // One after the other they would take ten seconds.
    expect(await all).toBeLessThan((CALLS * WAIT_MS) / 2);
    // Behind them there would be one, or a second one.
    expect(reads).toBeGreaterThan(3);
    expect(redis.unacknowledged).toBe(CALLS);
  });

  describe('where an acknowledgement is required', () => {
    it('is refused without one: nothing was issued, and the code can be redeemed later', async () => {
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

    it('ends a session without one, and says so only when it is sure', async () => {
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

    it('unlinks without one, and says so only when it is sure', async () => {
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

    it('stores renewed tokens without one: they are the only ones that are good', async () => {
      const redis = await open({ require_replica_ack: true });
      await redis.finishLogin({ sub: 'eve', links: { git: linkOf('eve1') }, code: undefined, lifespan });
      const [link] = Object.values(await redis.linksOf('eve'));
      replica!.freeze();
      expect(await redis.replaceLink('eve', 'git', link!.version, linkOf('eve1', { sealed: 'k1.new.x' }))).toBe(true);
      expect(redis.unacknowledged).toBe(1);
      expect(await redis.getLink('eve', 'git')).toMatchObject({ sealed: 'k1.new.x' });
    });

    it('waits for the end of a session whose refresh token came back late', async () => {
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

    it('is refused at once where there is no replica at all', async () => {
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

  it('is not waited for, nor counted, at one Redis without replicas', async () => {
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

  it('is no rotation: that is one round trip, and no WAIT', async () => {
    const redis = await open();
    const id = await newCode(redis);
    await redeem(redis, id);
    const rotation = { clientId: 'client-1', kid: 'k1', grace: 0, lifespan };
    await redis.rotateSession(`session of ${id}`, { ...rotation, gen: 0 });
    await master!.command('CONFIG', 'RESETSTAT');
    for (let gen = 1; gen <= 20; gen += 1) await redis.rotateSession(`session of ${id}`, { ...rotation, gen });
    const stats = String(await master!.command('INFO', 'commandstats'));
    // What a client may send and no script calls.
    const sent = [...stats.matchAll(/^cmdstat_(evalsha|eval|wait|info|get|multi|exec):calls=(\d+)/gm)];
    expect(sent.map(([, name, calls]) => `${name} ${calls}`)).toEqual(['evalsha 20']);
  });
});
