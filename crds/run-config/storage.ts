import { z } from 'zod';
import { inMilliseconds, objectLike } from '../parts/meaning.ts';
import { text } from '../parts/primitives.ts';
import { isRedisAddress, Redis as RedisConfig } from '../parts/storage.ts';
import { exactlyOne, withRules } from '../parts/rule.ts';

const File = text(4096);
const Address = z.string().max(512).refine(isRedisAddress, 'not an address; write host:port');
const redis = RedisConfig.shape;
const Tls = objectLike(redis.tls, {
  ca_cert_file: File.optional().describe('Certificate authorities of the server.'),
  insecure_skip_verify: z.boolean().default(false),
});
const Database = z.int().min(0).max(1_000_000).default(0);

export const Redis = withRules(
  objectLike(RedisConfig, {
    addr: Address.optional(),
    db: Database.describe('Database number.'),
    sentinel_config: objectLike(redis.sentinelConfig, {
      master_name: z.string().max(256),
      sentinel_addrs: z.array(Address).min(1).max(32),
      db: Database,
    }).optional(),
    acl_user_config: z
      .strictObject({
        username_file: File.optional().describe('File with the user name; absent: the default user.'),
        password_file: File.describe('File with the password.'),
      })
      .optional(),
    tls: Tls.optional(),
    sentinel_tls: Tls.optional(),
    dial_timeout: inMilliseconds(redis.dialTimeout),
    read_timeout: inMilliseconds(redis.readTimeout),
    write_timeout: inMilliseconds(redis.writeTimeout),
    key_prefix: z.string().max(256).describe('Prefix of all keys.'),
    require_replica_ack: redis.requireReplicaAck,
  }),
  exactlyOne('addr', 'sentinel_config'),
);

/** Storage of sessions and logins. `sqlite` is one file, for one machine. */
export const Storage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('memory').describe('Type of storage.') }),
  z.strictObject({ type: z.literal('sqlite'), file: File.describe('The database file, with type sqlite.') }),
  z.strictObject({ type: z.literal('redis'), redis: Redis.describe('A Redis, with type redis.') }),
]);
export type Storage = z.infer<typeof Storage>;
