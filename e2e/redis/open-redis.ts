import { Redis } from '#crds/run-config/storage';
import { openStorage } from '#runtime/authserver/storage/open-storage';
import type { AuthStorage } from '#runtime/authserver/storage/storage';

/** Opens a storage by `storage.redis` of a run configuration. `files`: the files that it names, with their content. */
export function openRedis(config: object, files: Readonly<Record<string, string>> = {}): Promise<AuthStorage> {
  return openStorage(
    { type: 'redis', redis: Redis.parse({ key_prefix: 'vmcp:test/tools:', ...config }) },
    { now: () => Date.now(), readSecret: (file) => files[file] ?? missing(file) },
  );
}

function missing(file: string): never {
  throw new Error(`${file}: there is no such file`);
}
