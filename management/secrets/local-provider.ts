import type { Opened } from './encrypted-file.ts';
import type { ProviderType } from './secrets.ts';

/** Where the secrets of this machine are. Three of them: the encrypted file, the environment, 1Password. */
export interface LocalProvider {
  type: Exclude<ProviderType, 'kubernetes'>;
  /** Keys of a namespace, in any order. */
  list(namespace: string): Promise<string[]>;
  /** Values of those keys that are there. */
  read(namespace: string, keys: readonly string[]): Promise<Map<string, string>>;
  /** Looks whether it can be used. @throws Problem `unsupported_provider`, `bad_request` */
  setUp(password: string | undefined): Promise<Opened | undefined>;
  /** Changes the secrets of a namespace; `change` may throw, and then nothing is. Absent: it can only be read. */
  update?: (namespace: string, change: (values: Map<string, string>) => void) => Promise<void>;
  /** A file, or how what can only be read is changed. */
  where: string;
}
