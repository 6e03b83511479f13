import { isBlank } from '#crds/parts/primitives';
import { ConfigError } from '#runtime/errors';
import { lastUsable } from '#runtime/last-usable';
import type { ProviderDeps } from './provider-deps.ts';

/** Undefined: public client. An emptied file does not replace the secret. @throws ConfigError if the file cannot be read or is empty */
export function readClientSecret(
  provider: string,
  file: string | undefined,
  { readSecret, log }: Pick<ProviderDeps, 'readSecret' | 'log'>,
): () => string | undefined {
  if (file === undefined) return () => undefined;
  return lastUsable({
    read: () => readSecret(file),
    check(secret) {
      if (isBlank(secret)) throw new ConfigError(`upstream ${provider}: ${file} is empty`);
    },
    warn: (reason) => log.warn('changed secret of a provider cannot be used; the former stays', { provider, reason }),
  });
}
