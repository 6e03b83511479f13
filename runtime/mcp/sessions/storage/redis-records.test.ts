import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll } from '@jest/globals';
import { Redis } from '#crds/run-config/storage';
import { connectRedis } from '#runtime/storage/redis/connect';
import { describeWithRedis } from '../../../../e2e/redis/redis-programs.ts';
import { type RedisServer, startRedis } from '../../../../e2e/redis/start-redis.ts';
import { recordsContract } from './contract/records.contract.ts';
import { RedisRecords } from './redis-records.ts';

const PREFIX = 'vmcp:team/tools:';
const PASSWORD = 'the password';

/** Returns the Redis user that the documentation describes. */
function documentedUser(): string {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/operate/storage-schema.md'), 'utf8');
  const rule = /^user vmcp [^`]*?(?=\n```)/m.exec(page)?.[0].replaceAll(/\s*\\?\n\s*/g, ' ') ?? '';
  return rule.replace('>PASSWORD', `">${PASSWORD}"`);
}

describeWithRedis('RedisRecords', () => {
  let server: RedisServer | undefined;
  beforeAll(async () => {
    server = await startRedis({ lines: [documentedUser()] });
  });
  afterAll(() => server?.stop());
  let prefixes = 0;

  recordsContract('Redis', async () => {
    const key_prefix = `${PREFIX}${(prefixes += 1)}:`;
    const acl_user_config = { username_file: 'user', password_file: 'password' };
    const config = Redis.parse({ addr: server!.address, key_prefix, acl_user_config });
    const connection = connectRedis(config, (file) => (file === 'user' ? 'vmcp' : PASSWORD));
    await connection.firstReady(30_000);
    return {
      records: new RedisRecords(key_prefix, connection),
      pass: (ms) => sleep(ms),
      close: () => connection.close(),
    };
  });
});
