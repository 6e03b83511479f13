import type { Identity } from './identity.ts';
import type { KeySet } from './key-set.ts';

export interface RememberedToken {
  readonly identity: Identity;
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** The keys that verified it; undefined for one that was introspected. */
  readonly keys: KeySet | undefined;
}

/** Verified tokens by their hash; those not used since the last look are forgotten first. */
export interface TokenMemory {
  get(digest: string): RememberedToken | undefined;
  set(digest: string, token: RememberedToken): void;
  delete(digest: string): void;
  clear(): void;
  readonly size: number;
}

/** A memory for at most `capacity` tokens. */
export function createTokenMemory(capacity: number): TokenMemory {
  const tokens = new Map<string, { readonly token: RememberedToken; used: boolean }>();
  // Second chance: one in use goes to the back of the line once, so that a hit costs no reordering.
  const evictOne = (): void => {
    for (const [digest, entry] of tokens) {
      tokens.delete(digest);
      if (!entry.used) return;
      entry.used = false;
      tokens.set(digest, entry);
    }
  };
  return {
    get(digest) {
      const entry = tokens.get(digest);
      if (entry === undefined) return undefined;
      entry.used = true;
      return entry.token;
    },
    set(digest, token) {
      tokens.delete(digest);
      if (tokens.size >= capacity) evictOne();
      tokens.set(digest, { token, used: false });
    },
    delete: (digest) => void tokens.delete(digest),
    clear: () => tokens.clear(),
    get size() {
      return tokens.size;
    },
  };
}
