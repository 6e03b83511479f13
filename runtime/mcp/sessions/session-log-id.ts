import { createHash } from 'node:crypto';

const DIGITS = 16;

/**
 * Returns the name of a session in log, audit and spans: the first 16 hexadecimal digits of the SHA-256 of its id.
 * The id itself grants access; its name cannot be reversed.
 */
export function sessionLogId(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, DIGITS);
}

/** Returns the same name for a stored session. `key`: base64url of the SHA-256 of its id. */
export function storedSessionLogId(key: string): string {
  return Buffer.from(key, 'base64url').toString('hex').slice(0, DIGITS);
}
