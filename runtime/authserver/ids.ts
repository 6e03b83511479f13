import { hash, randomBytes } from 'node:crypto';

/** What a client or a browser holds: 32 random bytes in base64url, never stored. */
export function newId(): string {
  return randomBytes(32).toString('base64url');
}

/** What stands for it in the storage: SHA-256 in base64url. */
export function hashId(id: string): string {
  return hash('sha256', id, 'base64url');
}
