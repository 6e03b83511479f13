import { shortHash } from '../whoami/describe-caller.ts';
import { GATEWAY_CLIENT } from './users.ts';

/** What the gateway's client may show: several secrets at once for as long as somebody changes from one to another. */
export interface ClientSecrets {
  /** From now on these, and no others. */
  readonly use: (secrets: readonly string[]) => void;
  /** Whether it is one of them. It counts as tried either way. */
  readonly check: (secret: string) => boolean;
  /** How often each one was tried, by its short hash. */
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
