import type { RedisOptions } from 'ioredis';
import type { Storage } from '#crds/run-config/storage';
import { ConfigError } from '#runtime/errors';
import { RedisConnection, type ConnectionWatch } from './connection.ts';

export type RedisConfig = Extract<Storage, { type: 'redis' }>['redis'];
export type ReadSecret = (file: string) => string;

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
const DISCONNECT_TIMEOUT_MS = 100;
const KEEP_ALIVE_MS = 10_000;
const SENTINEL_RECONNECT_MS = 2_000;

/**
 * A connection to the one Redis, or to the master that the Sentinels name, whoever that is at the moment.
 * @throws ConfigError where an address is malformed or a file of it cannot be read
 */
export function connectRedis(config: RedisConfig, readSecret: ReadSecret, watch?: ConnectionWatch): RedisConnection {
  const options = (attempt: number): RedisOptions => ({
    ...behaviour(config),
    ...credentials(config, readSecret),
    ...(config.tls && { tls: tlsOptions(config.tls, readSecret) }),
    ...target(config, attempt, readSecret),
  });
  // At the start a mistake is said; later on a file that is missing for a moment is only another failed attempt.
  options(0);
  return new RedisConnection(options, config.write_timeout, watch);
}

/** Nothing is queued or sent twice: whoever asked hears at once, and asks again or not. */
function behaviour({ dial_timeout, read_timeout }: RedisConfig): RedisOptions {
  return {
    connectTimeout: dial_timeout,
    commandTimeout: read_timeout,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    keepAlive: KEEP_ALIVE_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    disableClientInfo: true,
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
  // One that is silent, as its machine is down, must not cost each attempt a timeout.
  const first = attempt % sentinel_addrs.length;
  const inTurn = [...sentinel_addrs.slice(first), ...sentinel_addrs.slice(0, first)];
  return {
    name: master_name,
    db: sentinel_config.db,
    sentinels: inTurn.map((address) => parseAddress(address, SENTINEL_PORT)),
    // Those that are configured, and no others: their names are what certificates hold.
    updateSentinels: false,
    sentinelCommandTimeout: config.read_timeout,
    sentinelRetryStrategy: () => null,
    sentinelReconnectStrategy: () => SENTINEL_RECONNECT_MS,
    // A master that was cut off goes on answering: the Sentinels say when another took its place.
    failoverDetector: true,
    enableTLSForSentinelMode: tls !== undefined,
    ...(sentinel_tls && { sentinelTLS: tlsOptions(sentinel_tls, readSecret) }),
  };
}

function tlsOptions(tls: NonNullable<RedisConfig['tls']>, readSecret: ReadSecret) {
  const { ca_cert_file, insecure_skip_verify } = tls;
  return {
    rejectUnauthorized: !insecure_skip_verify,
    ...(ca_cert_file !== undefined && { ca: readSecret(ca_cert_file) }),
  };
}

/** `host:port`, `host`, `[address]:port`. */
function parseAddress(address: string, port: number): { host: string; port: number } {
  const parts = /^(?:\[(?<literal>[0-9a-fA-F:.%]+)\]|(?<name>[^:[\]\s/@]+))(?::(?<port>\d{1,5}))?$/.exec(
    address,
  )?.groups;
  const host = parts?.literal ?? parts?.name;
  const written = Number(parts?.port ?? port);
  if (host === undefined || written < 1 || written > 65_535)
    throw new ConfigError(`storage.redis: ${JSON.stringify(address)} is no address; write host:port`);
  return { host, port: written };
}
