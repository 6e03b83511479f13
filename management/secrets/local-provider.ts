import type { Opened } from './encrypted-file.ts';
import type { ProviderType } from './secrets.ts';

/** Source of this machine's secrets: the encrypted file, the environment or 1Password. */
export interface LocalProvider {
  type: Exclude<ProviderType, 'kubernetes'>;
  /** Returns the keys of a namespace, in any order. */
  list(namespace: string): Promise<string[]>;
  /** Returns the values of existing keys. */
  read(namespace: string, keys: readonly string[]): Promise<Map<string, string>>;
  /** Verifies that the provider is usable. @throws Problem `unsupported_provider`, `bad_request` */
  setUp(password: string | undefined): Promise<Opened | undefined>;
  /** Changes the secrets of a namespace; if `change` throws, nothing changes. Absent for a read-only provider. */
  update?: (namespace: string, change: (values: Map<string, string>) => void) => Promise<void>;
  /** File of the secrets, or how a user changes those of a read-only provider. */
  where: string;
}
