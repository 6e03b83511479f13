import {
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
  type StandaloneConnectionOptions,
} from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';
import { readRedisAddress } from '#crds/parts/storage';
import type { Storage } from '#crds/run-config/storage';
import { hasCertificate, NO_AUTHORITIES } from '#crds/parts/has-certificate';

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

type Connector = NonNullable<RedisOptions['Connector']>;
type Emitter = Parameters<StandaloneConnector['connect']>[0];

/** ioredis listens to the first error of a socket only. TLS may emit several, and an unhandled one ends the process. */
const ignore = () => undefined;

class DirectConnector extends StandaloneConnector {
  // ioredis passes its options untyped.
  constructor(options: unknown);
  constructor(options: StandaloneConnectionOptions) {
    super({ ...options });
  }

  override async connect(emit: Emitter) {
    const stream = await super.connect(emit);
    return stream.on('error', ignore);
  }
}

class ConnectorBySentinels extends SentinelConnector {
  constructor(options: unknown);
  constructor(options: SentinelConnectionOptions) {
    super(options);
    // This private method creates the clients of the Sentinels, and ioredis has no option for their connector.
    const open: unknown = Reflect.get(this, 'connectToSentinel');
    if (typeof open !== 'function') throw new Error('connections to Sentinels cannot be guarded');
    Reflect.set(this, 'connectToSentinel', (endpoint: unknown, more?: object) => {
      const client: unknown = Reflect.apply(open, this, [endpoint, { ...more, Connector: DirectConnector }]);
      return client;
    });
  }

  override async connect(emit: Emitter) {
    const stream = await super.connect(emit);
    return stream.on('error', ignore);
  }
}

/** Returns the connector to one Redis, or to the master that Sentinels name. Socket errors never end the process. */
const redisConnector = (bySentinels: boolean): Connector => (bySentinels ? ConnectorBySentinels : DirectConnector);
