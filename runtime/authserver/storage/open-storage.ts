import { randomUUID } from 'node:crypto';
import type { Storage } from '#crds/run-config/storage';
import type { ReadSecret } from '#lib/connections/redis-options';
import type { AuthStorage } from './storage.ts';

interface StorageDependencies {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns the content of a file that the configuration names. @throws ConfigError */
  readonly readSecret: ReadSecret;
  readonly newId?: () => string;
}

type StorageByType = { [Type in Storage['type']]: Extract<Storage, { type: Type }> };
type Openers = {
  readonly [Type in keyof StorageByType]: (
    config: StorageByType[Type],
    dependencies: Required<StorageDependencies>,
  ) => Promise<AuthStorage>;
};

/** Dependencies of a storage are loaded on demand. */
const OPENERS: Openers = {
  memory: async (_, { now }) => (await import('./memory.ts')).createMemoryStorage({ now }),
  sqlite: async ({ file }, dependencies) => (await import('./sqlite.ts')).openSqliteStorage({ file, ...dependencies }),
  redis: async ({ redis }, dependencies) => (await import('./redis.ts')).openRedisStorage(redis, dependencies),
};

/** Redis may be unreachable at first; operations then reject with StorageUnavailable. @throws ConfigError for unusable settings or files */
export function openStorage<Type extends Storage['type']>(
  config: StorageByType[Type] & { readonly type: Type },
  dependencies: StorageDependencies,
): Promise<AuthStorage> {
  return OPENERS[config.type](config, { newId: randomUUID, ...dependencies });
}
