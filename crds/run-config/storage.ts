import { z } from 'zod';
import { DEFAULTS } from '../parts/defaults.ts';
import { Milliseconds, text } from '../parts/primitives.ts';
import { isRedisAddress } from '../parts/redis-address.ts';
import { exactlyOne, withRules } from '../parts/rule.ts';

const File = text(4096);
const Address = z.string().max(512).refine(isRedisAddress, 'not an address; write host:port');
const Tls = z.strictObject({
  ca_cert_file: File.optional().describe('Certificate authorities of the server.'),
  insecure_skip_verify: z.boolean().default(false).describe('Do not check the certificate: development only.'),
});
const Database = z.int().min(0).max(1_000_000).default(0).describe('Database number.');

/** A Redis: one address, or a master found through Sentinels. */
export const Redis = withRules(
  z.strictObject({
    addr: Address.optional().describe('host:port of one Redis.'),
    db: Database,
    sentinel_config: z
      .strictObject({
        master_name: z.string().max(256).describe('Name of the master as the Sentinels know it.'),
        sentinel_addrs: z.array(Address).min(1).max(32).describe('host:port of the Sentinels.'),
        db: Database,
      })
      .optional()
      .describe('Find the master through Sentinels.'),
    acl_user_config: z
      .strictObject({
        username_file: File.optional().describe('File with the user name; absent: the default user.'),
        password_file: File.describe('File with the password.'),
      })
      .optional()
      .describe('The user to sign in as.'),
    tls: Tls.optional().describe('TLS towards the Redis.'),
    sentinel_tls: Tls.optional().describe('TLS towards the Sentinels.'),
    dial_timeout: Milliseconds.prefault(DEFAULTS.redisDialTimeout).describe('Longest time to connect.'),
    read_timeout: Milliseconds.prefault(DEFAULTS.redisReadTimeout).describe('Longest time to wait for an answer.'),
    write_timeout: Milliseconds.prefault(DEFAULTS.redisWriteTimeout).describe('Longest time to send.'),
    key_prefix: z.string().max(256).describe('Prefix of all keys.'),
    require_replica_ack: z
      .boolean()
      .default(false)
      .describe('Issue nothing before a replica acknowledged it (WAIT); 503 otherwise.'),
  }),
  exactlyOne('addr', 'sentinel_config'),
);

/** Storage of sessions and logins. `sqlite` is one file, for one machine. */
export const Storage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('memory').describe('Where it is kept.') }),
  z.strictObject({ type: z.literal('sqlite'), file: File.describe('The database file, with type sqlite.') }),
  z.strictObject({ type: z.literal('redis'), redis: Redis.describe('A Redis, with type redis.') }),
]);
export type Storage = z.infer<typeof Storage>;
