import { SecondChanceMap } from '#runtime/second-chance-map';
import type { Identity } from './identity.ts';
import type { KeySet } from './key-set.ts';

export interface RememberedToken {
  readonly identity: Identity;
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** The keys that verified the token; undefined for an introspected one. */
  readonly keys: KeySet | undefined;
}

/** Cache of verified tokens by their hash. It evicts tokens without recent use first. */
export interface TokenMemory {
  get(digest: string): RememberedToken | undefined;
  set(digest: string, token: RememberedToken): void;
  delete(digest: string): void;
  clear(): void;
  readonly size: number;
}

export function createTokenMemory(capacity: number): TokenMemory {
  const tokens = new SecondChanceMap<string, { readonly token: RememberedToken; used: boolean }>(capacity);
  return {
    get(digest) {
      const entry = tokens.get(digest);
      if (entry === undefined) return undefined;
      entry.used = true;
      return entry.token;
    },
    set: (digest, token) => void tokens.set(digest, { token, used: false }),
    delete: (digest) => void tokens.delete(digest),
    clear: () => tokens.clear(),
    get size() {
      return tokens.size;
    },
  };
}
