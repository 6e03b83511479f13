import { createHash } from 'node:crypto';

const DIGITS = 16;

/** First 16 hexadecimal digits of the id's SHA-256, for log, audit and spans: the id itself grants access. */
export function sessionLogId(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, DIGITS);
}

/** `key`: base64url of the id's SHA-256. */
export function storedSessionLogId(key: string): string {
  return Buffer.from(key, 'base64url').toString('hex').slice(0, DIGITS);
}
