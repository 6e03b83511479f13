import { hash, randomBytes } from 'node:crypto';

/** Returns a new id for a client or a browser: 32 random bytes in base64url, never stored. */
export function newId(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the storage key of an id: SHA-256 in base64url. */
export function hashId(id: string): string {
  return hash('sha256', id, 'base64url');
}
