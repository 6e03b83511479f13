import type { Opened } from './encrypted-file.ts';
import type { ProviderType } from './secrets.ts';

export interface LocalProvider {
  type: Exclude<ProviderType, 'kubernetes'>;
  list(namespace: string): Promise<string[]>;
  read(namespace: string, keys: readonly string[]): Promise<Map<string, string>>;
  /** @throws Problem `unsupported_provider`, `bad_request` */
  setUp(password: string | undefined): Promise<Opened | undefined>;
  /** If `change` throws, nothing changes. Absent for a read-only provider. */
  update?: (namespace: string, change: (values: Map<string, string>) => void) => Promise<void>;
  /** File of the secrets, or how a user changes those of a read-only provider. */
  where: string;
}
