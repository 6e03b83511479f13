import { type AuthServerStorage, type Redis, sentinelAddresses, type SessionStorage } from '#crds/parts/storage';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';

type SecretFiles = Pick<FileList, 'secret'>;

type StorageDocument = NonNullable<RunConfigDocument['session_storage']>;
type RedisDocument = Extract<StorageDocument, { type: 'redis' }>['redis'];
type Tls = NonNullable<Redis['tls']>;

function renderTls(tls: Tls, field: string, files: SecretFiles) {
  return defined({
    ca_cert_file:
      tls.caCertSecretRef && files.secret(tls.caCertSecretRef, `${field}.caCertSecretRef`, ['no certificate']),
    insecure_skip_verify: tls.insecureSkipVerify,
  });
}

function renderRedis(redis: Redis, keyPrefix: string, field: string, files: SecretFiles): RedisDocument {
  const { sentinelConfig: sentinel, aclUserConfig: user } = redis;
  return defined({
    addr: redis.addr,
    db: redis.db,
    sentinel_config: sentinel && {
      master_name: sentinel.masterName,
      sentinel_addrs: sentinelAddresses(sentinel),
      db: sentinel.db,
    },
    acl_user_config:
      user &&
      defined({
        username_file:
          user.usernameSecretRef && files.secret(user.usernameSecretRef, `${field}.aclUserConfig.usernameSecretRef`),
        password_file: files.secret(user.passwordSecretRef, `${field}.aclUserConfig.passwordSecretRef`),
      }),
    tls: redis.tls && renderTls(redis.tls, `${field}.tls`, files),
    sentinel_tls: redis.sentinelTls && renderTls(redis.sentinelTls, `${field}.sentinelTls`, files),
    dial_timeout: redis.dialTimeout,
    read_timeout: redis.readTimeout,
    write_timeout: redis.writeTimeout,
    key_prefix: redis.keyPrefix ?? keyPrefix,
    require_replica_ack: redis.requireReplicaAck,
  });
}

export function renderAuthServerStorage(
  storage: AuthServerStorage,
  keyPrefix: string,
  files: SecretFiles,
): StorageDocument {
  if (!storage.redis) return { type: 'memory' };
  const field = 'authServerConfig.storage.redis';
  return { type: 'redis', redis: renderRedis(storage.redis, keyPrefix, field, files) };
}

/** Renders the session storage. The short form is one address. */
export function renderSessionStorage(
  storage: SessionStorage | undefined,
  keyPrefix: string,
  files: SecretFiles,
): StorageDocument {
  if (storage?.redis) {
    return { type: 'redis', redis: renderRedis(storage.redis, keyPrefix, 'sessionStorage.redis', files) };
  }
  if (storage?.address === undefined) return { type: 'memory' };
  const password = storage.passwordRef && files.secret(storage.passwordRef, 'sessionStorage.passwordRef');
  const redis = defined({
    addr: storage.address,
    db: storage.db,
    acl_user_config: password === undefined ? undefined : { password_file: password },
    key_prefix: storage.keyPrefix ?? keyPrefix,
  });
  return { type: 'redis', redis };
}
