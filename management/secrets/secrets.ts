import { Problem } from '../problem.ts';

export const PROVIDER_TYPES = ['encrypted', '1password', 'environment', 'kubernetes'] as const;
export type ProviderType = (typeof PROVIDER_TYPES)[number];

export const MOST_SECRETS = 1000;
/** Bytes. */
export const LONGEST_VALUE = 65_536;

export interface SetUp {
  type: ProviderType;
  message: string;
}

/** No method returns values. Without a provider, all but `setUp` throw Problem `not_found`; a read-only one, `provider_read_only`. */
export interface Secrets {
  /** Throws Problem `unsupported_provider`, `bad_request` (a password is missing, or another one). */
  setUp(type: ProviderType, password: string | undefined): Promise<SetUp>;
  list(): Promise<{ type: ProviderType; keys: string[] }>;
  /** Calls `mayAdd` before it changes an existing store; `mayAdd` throws to refuse. @throws Problem `already_exists` */
  create(key: string, value: string, mayAdd?: () => Promise<void>): Promise<void>;
  /** Throws Problem `not_found`. */
  replace(key: string, value: string): Promise<void>;
  /** Throws Problem `not_found`. */
  delete(key: string): Promise<void>;
}

export function unknownKey(key: string): Problem {
  return new Problem('not_found', `there is no secret "${key}"`);
}

export function knownKey(key: string): Problem {
  return new Problem('already_exists', `there is a secret "${key}" already: update it instead`);
}

export function tooManySecrets(): Problem {
  return new Problem('too_large', `there are ${MOST_SECRETS} secrets already: delete some first`);
}

export function readOnly(type: ProviderType, where: string): Problem {
  return new Problem('provider_read_only', `the provider "${type}" can only be read: ${where}`, {
    headers: { Allow: 'GET' },
  });
}
