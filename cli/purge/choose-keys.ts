import type { RedisConfig } from '#lib/connections/redis-options';
import { isRedisAddress } from '#crds/parts/storage';
import type { KeyAccess } from '#cli/storage/redis-keys';
import { Redis } from '#crds/run-config/storage';
import { defined } from '#operator/plan/defined';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { CONTENTS, type Content, type WrittenKeys } from './find-written-keys.ts';

/** Options extend or replace the manifest. */
export interface RedisOptions {
  /** host:port; with sentinelMaster, the addresses of the Sentinels. */
  redisAddress?: string[];
  sentinelMaster?: string;
  db?: number;
  username?: string;
  passwordFile?: string;
  tls: boolean;
  sentinelTls: boolean;
  caFile?: string;
  tlsName?: string;
  keyPrefix?: string;
  only?: Content;
}

export interface ChosenKeys extends KeyAccess {
  contents: readonly Content[];
  shown: string;
}

/** File names of Secrets contain a slash. */
const FILES = { password: '--password-file', user: '--username', ca: '--ca-file' } as const;

interface Choosing {
  written: readonly WrittenKeys[];
  prefix: string;
  readSecret: (file: string) => string;
  readFile: (path: string) => string;
}

/** Returns IPv6 without brackets; undefined without a host. */
export function hostOf(address = ''): string | undefined {
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return host === '' ? undefined : host;
}

function target({ redisAddress: addresses = [], sentinelMaster }: RedisOptions, db: number) {
  if (sentinelMaster === undefined) return { addr: addresses[0], db };
  return { sentinel_config: { master_name: sentinelMaster, sentinel_addrs: addresses, db } };
}

function accessOf({ passwordFile, username, caFile, tls, sentinelTls }: RedisOptions) {
  const trusted = { ca_cert_file: caFile === undefined ? undefined : FILES.ca };
  const user = username === undefined ? {} : { username_file: FILES.user };
  return {
    ...(tls && { tls: trusted }),
    ...(sentinelTls && { sentinel_tls: trusted }),
    ...(passwordFile !== undefined && { acl_user_config: { password_file: FILES.password, ...user } }),
  };
}

/** Returns undefined for files that no option names. */
function givenText(file: string, options: RedisOptions, { readFile }: Choosing): string | undefined {
  const { username = '', passwordFile = '', caFile = '' } = options;
  if (file === FILES.user) return username;
  if (file === FILES.ca) return readFile(caFile);
  return file === FILES.password ? readFile(passwordFile) : undefined;
}

function addressOf({ addr, db = 0, sentinel_config, sentinel_tls }: Partial<RedisConfig>, options: RedisOptions) {
  const { redisAddress, db: number = sentinel_config?.db ?? db } = options;
  if (redisAddress !== undefined) return target(options, number);
  if (sentinel_config) return { sentinel_config: { ...sentinel_config, db: number }, sentinel_tls };
  return { addr, db: number };
}

function changed(base: WrittenKeys | undefined, options: RedisOptions, choosing: Choosing) {
  const ground: Partial<RedisConfig> = base?.config ?? { key_prefix: choosing.prefix };
  const { redisAddress, keyPrefix = ground.key_prefix, tlsName } = options;
  const { addr, acl_user_config, tls, dial_timeout, read_timeout } = ground;
  const parsed = Redis.parse({
    ...defined({ acl_user_config, tls }),
    ...defined(addressOf(ground, options)),
    ...accessOf(options),
    key_prefix: keyPrefix,
  });
  return {
    contents: base?.contents ?? CONTENTS,
    config: { ...parsed, ...defined({ dial_timeout, read_timeout }) },
    // Through a forwarded port the address differs, but the certificate still names the original host.
    tlsName: tlsName ?? (redisAddress === undefined ? undefined : hostOf(addr)),
    // A trailing line break does not belong to a password. The servers read such files the same way.
    readSecret: (file: string) =>
      (givenText(file, options, choosing) ?? choosing.readSecret(file)).replace(/[\r\n]+$/, ''),
  };
}

const wrong = (message: string) => new CliError(EXIT_CODES.usage, message);

function checkAddress({ redisAddress = [], sentinelMaster, keyPrefix }: RedisOptions): void {
  const none = redisAddress.find((address) => !isRedisAddress(address));
  if (none !== undefined) throw wrong(`--redis-address: ${JSON.stringify(none)} is no address; write host:port`);
  if (redisAddress.length > 1 && sentinelMaster === undefined)
    throw wrong('--redis-address: there is one Redis; of Sentinels say --sentinel-master, too');
  if (redisAddress.length === 0 && sentinelMaster !== undefined)
    throw wrong('--sentinel-master: name the Sentinels with --redis-address');
  if (keyPrefix === '') throw wrong('--key-prefix: all keys begin with nothing; write the prefix of this server');
}

function checkAccess({ username, passwordFile, caFile, tls, sentinelTls }: RedisOptions): void {
  if (username !== undefined && passwordFile === undefined)
    throw wrong('--username: write --password-file, too, with the file of its password');
  if (caFile !== undefined && !tls && !sentinelTls)
    throw wrong('--ca-file: write --tls or --sentinel-tls, for which it is');
}

/** @throws CliError for incompatible options */
export function checkOptions(options: RedisOptions): void {
  checkAddress(options);
  checkAccess(options);
}

/** @throws CliError when options match two places */
export function chooseKeys(options: RedisOptions, choosing: Choosing): ChosenKeys[] {
  const { redisAddress, keyPrefix, only } = options;
  const written = choosing.written.filter(({ contents }) => only === undefined || contents.includes(only));
  const isSaid = redisAddress !== undefined || keyPrefix !== undefined;
  if (isSaid && written.length > 1) {
    const remedy = 'say with --only sessions or --only logins which is meant, one after the other';
    throw wrong(`sessions and logins are at two places: ${remedy}`);
  }
  if (written.length === 0 && redisAddress === undefined) return [];
  const bases = written.length === 0 ? [undefined] : written;
  return bases.map((base) => {
    const place = changed(base, options, choosing);
    return { ...place, shown: describeKeys(place.config) };
  });
}

function describeKeys({ addr, db, sentinel_config: sentinel, key_prefix }: ChosenKeys['config']): string {
  const where = sentinel ? `${sentinel.master_name} of ${sentinel.sentinel_addrs.join(', ')}` : (addr ?? '');
  const number = sentinel?.db ?? db;
  return `Redis ${where}${number === 0 ? '' : `, database ${number}`}, ${key_prefix}`;
}
