import { z } from 'zod';
import { Milliseconds } from '../parts/primitives.ts';

const File = z.string().min(1).max(4096);
const Tls = z.strictObject({ ca_cert_file: File.optional(), insecure_skip_verify: z.boolean().default(false) });

/** A Redis: one address, or a master found through Sentinels. */
export const Redis = z
  .strictObject({
    addr: z.string().max(512).optional(),
    db: z.int().min(0).max(1_000_000).default(0),
    sentinel_config: z
      .strictObject({
        master_name: z.string().max(256),
        sentinel_addrs: z.array(z.string().max(512)).min(1).max(32),
        db: z.int().min(0).max(1_000_000).default(0),
      })
      .optional(),
    acl_user_config: z.strictObject({ username_file: File.optional(), password_file: File }).optional(),
    tls: Tls.optional(),
    sentinel_tls: Tls.optional(),
    dial_timeout: Milliseconds.prefault('5s'),
    read_timeout: Milliseconds.prefault('3s'),
    write_timeout: Milliseconds.prefault('3s'),
    key_prefix: z.string().max(256),
    require_replica_ack: z.boolean().default(false),
  })
  .refine((redis) => (redis.addr === undefined) !== (redis.sentinel_config === undefined), {
    message: 'write exactly one of addr and sentinel_config',
  });

/** Where sessions and logins are kept. `sqlite` is one file, for one machine. */
export const Storage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('memory') }),
  z.strictObject({ type: z.literal('sqlite'), file: File }),
  z.strictObject({ type: z.literal('redis'), redis: Redis }),
]);
export type Storage = z.infer<typeof Storage>;
