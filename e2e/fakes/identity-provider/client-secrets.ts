import { shortHash } from '../whoami/describe-caller.ts';
import { GATEWAY_CLIENT } from './users.ts';

/** Secrets that the provider accepts from the gateway's client: several during a rotation. */
export interface ClientSecrets {
  /** Replaces the accepted secrets. */
  readonly use: (secrets: readonly string[]) => void;
  /** Returns whether the secret is accepted, and counts the attempt in any case. */
  readonly check: (secret: string) => boolean;
  /** Returns the number of attempts with each secret, by its short hash. */
  readonly tries: () => Record<string, number>;
}

export function createClientSecrets(): ClientSecrets {
  let good: readonly string[] = [GATEWAY_CLIENT.secret];
  const tries = new Map<string, number>();
  return {
    use: (secrets) => {
      good = secrets;
    },
    check: (secret) => {
      const hash = shortHash(secret);
      tries.set(hash, (tries.get(hash) ?? 0) + 1);
      return good.includes(secret);
    },
    tries: () => Object.fromEntries(tries),
  };
}
