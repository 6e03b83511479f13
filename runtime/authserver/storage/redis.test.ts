import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll } from '@jest/globals';
import { Redis as RedisConfig } from '#crds/run-config/storage';
import { describeWithRedis } from '../../../e2e/redis/redis-programs.ts';
import { type RedisServer, startRedis } from '../../../e2e/redis/start-redis.ts';
import type { Opened } from './contract/opened.contract.ts';
import { storageContract } from './contract/storage.contract.ts';
import { openRedisStorage } from './redis.ts';

let ids = 0;
const options = {
  now: () => Date.now(),
  newId: () => `id${(ids += 1)}`,
  readSecret: () => {
    throw new Error('no file');
  },
};

describeWithRedis('a real Redis', () => {
  let server: RedisServer | undefined;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.stop());

  let prefixes = 0;
  const open = (prefix: string) =>
    openRedisStorage(RedisConfig.parse({ addr: server!.address, key_prefix: prefix }), options);

  async function openTwice(): Promise<Opened> {
    const prefix = `vmcp:test/${(prefixes += 1)}:`;
    const [one, two] = [await open(prefix), await open(prefix)];
    return {
      one,
      two,
      now: () => Date.now(),
      pass: (ms) => sleep(ms),
      close: async () => {
        await one.close();
        await two.close();
      },
    };
  }

  storageContract('Redis', openTwice);
});
