import type { Identity } from './identity.ts';
import type { KeySet } from './key-set.ts';

export interface RememberedToken {
  readonly identity: Identity;
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** The keys that verified it; undefined for one that was introspected. */
  readonly keys: KeySet | undefined;
}

/** Verified tokens by their hash, the least recently used ones forgotten first. */
export interface TokenMemory {
  get(digest: string): RememberedToken | undefined;
  set(digest: string, token: RememberedToken): void;
  delete(digest: string): void;
  clear(): void;
  readonly size: number;
}

/** A memory for at most `capacity` tokens. */
export function createTokenMemory(capacity: number): TokenMemory {
  const tokens = new Map<string, RememberedToken>();
  return {
    get(digest) {
      const token = tokens.get(digest);
      if (token) {
        tokens.delete(digest);
        tokens.set(digest, token);
      }
      return token;
    },
    set(digest, token) {
      tokens.delete(digest);
      if (tokens.size >= capacity) {
        for (const oldest of tokens.keys()) {
          tokens.delete(oldest);
          break;
        }
      }
      tokens.set(digest, token);
    },
    delete: (digest) => void tokens.delete(digest),
    clear: () => tokens.clear(),
    get size() {
      return tokens.size;
    },
  };
}
