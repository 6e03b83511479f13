import { createHash } from 'node:crypto';

/** Longer parts of a key are held as their hash. */
const MAX_PART = 512;

/**
 * One part of a key, from what a decision can read. JSON keeps values apart whatever they hold (absent is null, which no
 * value is), and holds no line feed, which therefore separates parts.
 */
export function keyPart(values: readonly unknown[]): string {
  const text = JSON.stringify(values);
  return text.length <= MAX_PART ? text : `#${createHash('sha256').update(text).digest('base64')}`;
}

/** The whole key. Parts come from `keyPart`, or are fixed words. */
export function joinKey(action: string, caller: string, target: string, call: string): string {
  return `${action}\n${caller}\n${target}\n${call}`;
}
