import type { RedisOptions } from 'ioredis';
import { readRedisAddress } from '#crds/parts/redis-address';
import type { Storage } from '#crds/run-config/storage';
import { hasCertificate, NO_AUTHORITIES } from '#crds/parts/has-certificate';
import { redisConnector } from './redis-connector.ts';

export type RedisConfig = Extract<Storage, { type: 'redis' }>['redis'];
/** Returns the text of a file that a configuration names. */
export type ReadSecret = (file: string) => string;

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
const SENTINEL_RECONNECT_MS = 2_000;

/** No connection is possible with these settings. The message says how to fix them. */
export class UnusableRedisSettings extends Error {
  override readonly name = 'UnusableRedisSettings';
}

/**
 * Returns the addresses and credentials of one Redis, or of the Sentinels that name the master. `attempt` counts from 0: each attempt
 * begins with another Sentinel. @throws UnusableRedisSettings; errors of `readSecret`
 */
export function redisOptions(config: RedisConfig, readSecret: ReadSecret, attempt: number): RedisOptions {
  return {
    Connector: redisConnector(config.sentinel_config !== undefined),
    ...credentials(config, readSecret),
    ...(config.tls && { tls: tlsOptions(config.tls, readSecret) }),
    ...target(config, attempt, readSecret),
  };
}

function credentials({ acl_user_config }: RedisConfig, readSecret: ReadSecret): RedisOptions {
  if (!acl_user_config) return {};
  const { username_file, password_file } = acl_user_config;
  const password = readSecret(password_file);
  return username_file === undefined ? { password } : { username: readSecret(username_file), password };
}

function target({ addr, db, ...config }: RedisConfig, attempt: number, readSecret: ReadSecret): RedisOptions {
  const { sentinel_config, sentinel_tls, tls } = config;
  if (!sentinel_config) return { ...parseAddress(addr ?? '', REDIS_PORT), db };
  const { master_name, sentinel_addrs } = sentinel_config;
  // A Sentinel on a stopped machine must not cost each attempt a timeout.
  const first = attempt % sentinel_addrs.length;
  const inTurn = [...sentinel_addrs.slice(first), ...sentinel_addrs.slice(0, first)];
  return {
    name: master_name,
    db: sentinel_config.db,
    sentinels: inTurn.map((address) => parseAddress(address, SENTINEL_PORT)),
    // Only the configured Sentinels, because certificates contain their names.
    updateSentinels: false,
    sentinelCommandTimeout: config.read_timeout,
    sentinelRetryStrategy: () => null,
    sentinelReconnectStrategy: () => SENTINEL_RECONNECT_MS,
    // A disconnected master still answers. The Sentinels report its successor.
    failoverDetector: true,
    enableTLSForSentinelMode: tls !== undefined,
    ...(sentinel_tls && { sentinelTLS: tlsOptions(sentinel_tls, readSecret) }),
  };
}

function tlsOptions(tls: NonNullable<RedisConfig['tls']>, readSecret: ReadSecret) {
  const { ca_cert_file, insecure_skip_verify } = tls;
  return {
    rejectUnauthorized: !insecure_skip_verify,
    ...(ca_cert_file !== undefined && { ca: readAuthorities(ca_cert_file, readSecret) }),
  };
}

/** Rejects a file without certificates: with an empty text, Node trusts its default authorities. @throws UnusableRedisSettings */
function readAuthorities(file: string, readSecret: ReadSecret): string {
  const text = readSecret(file);
  if (hasCertificate(text)) return text;
  throw new UnusableRedisSettings(`${file} ${NO_AUTHORITIES}`);
}

function parseAddress(address: string, port: number): { host: string; port: number } {
  const read = readRedisAddress(address, port);
  if (!read) throw new UnusableRedisSettings(`${JSON.stringify(address)} is no address; write host:port`);
  return read;
}
