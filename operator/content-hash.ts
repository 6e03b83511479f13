import { createHash } from 'node:crypto';

/** Returns the first 16 hex digits of the SHA-256 of a text, to name a file by its content. Not for secret values. */
export function contentHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
