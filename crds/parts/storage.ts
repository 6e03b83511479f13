import { z } from 'zod';
import { DEFAULTS } from './defaults.ts';
import { Deadline, DnsLabel, text } from './primitives.ts';
import { oneBlockPerType } from './one-block-per-type.ts';
import { SecretKeyRef } from './references.ts';
import { exactlyOne, needs, notBoth, type Rule, withRules } from './rule.ts';

/** Parses `host:port`, `host` or `[address]:port`. `port` is the default. Returns undefined for another text. */
export function readRedisAddress(text: string, port: number): { host: string; port: number } | undefined {
  const parts = /^(?:\[(?<literal>[0-9a-fA-F:.%]+)\]|(?<name>[^:[\]\s/@]+))(?::(?<port>\d{1,5}))?$/.exec(text)?.groups;
  const host = parts?.literal ?? parts?.name;
  const written = Number(parts?.port ?? port);
  return host === undefined || written < 1 || written > 65_535 ? undefined : { host, port: written };
}

export const isRedisAddress = (text: string) => readRedisAddress(text, 1) !== undefined;

const ADDRESS = 'not an address; write host:port';
const Address = text(512)
  .regex(/^[^\s/@]+$/, { error: ADDRESS, abort: true })
  .refine(isRedisAddress, ADDRESS);
const Database = z.int().min(0).max(1_000_000);
const KeyPrefix = text(256);

const Tls = z.strictObject({
  caCertSecretRef: SecretKeyRef.optional().describe('Certificate authorities of the server; with it only these count.'),
  insecureSkipVerify: z.boolean().default(false).describe('Do not check the certificate: development only.'),
});

const SentinelConfig = withRules(
  z.strictObject({
    masterName: text(256).describe('Name of the master as the Sentinels know it.'),
    sentinelAddrs: z.array(Address).min(1).max(32).optional().describe('host:port of the Sentinels.'),
    sentinelService: z
      .strictObject({
        name: DnsLabel.describe('Name of the Service.'),
        namespace: DnsLabel.optional().describe('Its namespace; absent: the one of this resource.'),
        port: z.int().min(1).max(65_535).default(26_379).describe('Its port.'),
      })
      .optional()
      .describe('The Service of the Sentinels, in a cluster.'),
    db: Database.default(0).describe('Database number.'),
  }),
  exactlyOne('sentinelAddrs', 'sentinelService'),
);
type SentinelConfig = z.infer<typeof SentinelConfig>;

export function sentinelAddresses({ sentinelAddrs, sentinelService }: SentinelConfig): string[] {
  if (!sentinelService) return sentinelAddrs ?? [];
  const { name, namespace, port } = sentinelService;
  return [`${namespace === undefined ? name : `${name}.${namespace}.svc`}:${port}`];
}

export const Redis = withRules(
  z.strictObject({
    sentinelConfig: SentinelConfig.optional().describe('Find the master through Sentinels.'),
    addr: Address.optional().describe('host:port of one Redis.'),
    db: Database.optional().describe('Database number, with addr; 0 where it is left out.'),
    aclUserConfig: z
      .strictObject({
        usernameSecretRef: SecretKeyRef.optional().describe('User name; absent: the default user.'),
        passwordSecretRef: SecretKeyRef.describe('Password.'),
      })
      .optional()
      .describe('The user to sign in as.'),
    tls: Tls.optional().describe('TLS towards the Redis.'),
    sentinelTls: Tls.optional().describe('TLS towards the Sentinels.'),
    dialTimeout: Deadline.default(DEFAULTS.redisDialTimeout).describe('Longest time to connect.'),
    readTimeout: Deadline.default(DEFAULTS.redisReadTimeout).describe('Longest time to wait for an answer.'),
    writeTimeout: Deadline.default(DEFAULTS.redisWriteTimeout).describe('Longest time to send.'),
    keyPrefix: KeyPrefix.optional().describe('Prefix of all keys; default vmcp:{namespace}/{name}:'),
    requireReplicaAck: z
      .boolean()
      .default(false)
      .describe('Issue tokens only after a replica acknowledged the write (WAIT); 503 otherwise.'),
  }),
  exactlyOne('sentinelConfig', 'addr'),
  notBoth(['sentinelConfig'], ['db'], 'write db inside sentinelConfig'),
  needs(['sentinelTls'], ['sentinelConfig']),
);
export type Redis = z.infer<typeof Redis>;

export const AuthServerStorage = oneBlockPerType(
  z.strictObject({
    type: z.enum(['memory', 'redis']).default('memory').describe('`memory` is lost at a restart.'),
    redis: Redis.optional().describe('A Redis.'),
  }),
  { memory: 'none', redis: { block: 'redis' } },
);
export type AuthServerStorage = z.infer<typeof AuthServerStorage>;

const Session = z.strictObject({
  provider: z.enum(['memory', 'redis']).default('memory').describe('`memory` serves one replica.'),
  address: Address.optional().describe('host:port of one Redis: the short form of redis.'),
  db: Database.optional().describe('Database number, with address.'),
  keyPrefix: KeyPrefix.optional().describe('Prefix of all keys, with address; default vmcp:{namespace}/{name}:'),
  passwordRef: SecretKeyRef.optional().describe('Password, with address.'),
  redis: Redis.optional().describe('A Redis with all its settings.'),
  sealingSecretRefs: z
    .array(SecretKeyRef)
    .max(16)
    .optional()
    .describe('Secrets that seal what is stored: the first seals, all open. Absent: one is made, once.'),
});

const providerRule: Rule<z.infer<typeof Session>> = {
  at: ['provider'],
  message:
    'provider redis needs exactly one of address and redis, provider memory none; write or remove them accordingly',
  holds: ({ provider, address, redis }) => {
    const written = [address, redis].filter((field) => field !== undefined).length;
    return written === (provider === 'redis' ? 1 : 0);
  },
  cel: "self.provider == 'redis' ? has(self.address) != has(self.redis) : !has(self.address) && !has(self.redis)",
};

export const SessionStorage = withRules(
  Session,
  providerRule,
  needs(['db'], ['address']),
  needs(['keyPrefix'], ['address']),
  needs(['passwordRef'], ['address']),
);
export type SessionStorage = z.infer<typeof SessionStorage>;
