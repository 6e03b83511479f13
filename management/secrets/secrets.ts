import { Problem } from '../problem.ts';

export const PROVIDER_TYPES = ['encrypted', '1password', 'environment', 'kubernetes'] as const;
export type ProviderType = (typeof PROVIDER_TYPES)[number];

/** Secrets of one namespace. */
export const MOST_SECRETS = 1000;
/** Bytes of one value. */
export const LONGEST_VALUE = 65_536;

/** What was set up, and a sentence about it for people. */
export interface SetUp {
  type: ProviderType;
  message: string;
}

/**
 * The secrets of one namespace. Two of them: a provider of this machine, and a Secret of a cluster. Values go in and never come
 * out. Every call but `setUp` throws Problem `not_found` where no provider is set up, and those that change something
 * `provider_read_only` where it cannot.
 */
export interface Secrets {
  /** Throws Problem `unsupported_provider`, `bad_request` (a password is missing, or another one). */
  setUp(type: ProviderType, password: string | undefined): Promise<SetUp>;
  /** Provider in force, and the keys, sorted. */
  list(): Promise<{ type: ProviderType; keys: string[] }>;
  /**
   * `mayAdd` is asked where what holds the secrets is there already, so that a new one changes it; it throws where it may not be.
   * Throws Problem `already_exists`.
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
