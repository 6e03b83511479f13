import { Problem } from '../problem.ts';

export const PROVIDER_TYPES = ['encrypted', '1password', 'environment', 'kubernetes'] as const;
export type ProviderType = (typeof PROVIDER_TYPES)[number];

/** Maximum number of secrets in one namespace. */
export const MOST_SECRETS = 1000;
/** Maximum bytes of one value. */
export const LONGEST_VALUE = 65_536;

/** The provider that was set up, with a sentence for users. */
export interface SetUp {
  type: ProviderType;
  message: string;
}

/**
 * The secrets of one namespace, from a provider of this machine or a Secret of a cluster. No method returns values. Every method except
 * `setUp` throws Problem `not_found` without a provider; changes throw `provider_read_only` for a read-only one.
 */
export interface Secrets {
  /** Throws Problem `unsupported_provider`, `bad_request` (a password is missing, or another one). */
  setUp(type: ProviderType, password: string | undefined): Promise<SetUp>;
  /** Returns the active provider and the sorted keys. */
  list(): Promise<{ type: ProviderType; keys: string[] }>;
  /**
   * Calls `mayAdd` when the store exists already, so that the new secret changes it; `mayAdd` throws to refuse. @throws Problem
   * `already_exists`
   */
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
