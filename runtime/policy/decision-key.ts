import { createHash } from 'node:crypto';

/** Longer parts of a key are replaced by their hash. */
const MAX_PART = 512;

/** JSON keeps values distinct (null only means absent) and contains no line feed, so that line feeds can separate parts. */
export function keyPart(values: readonly unknown[]): string {
  const text = JSON.stringify(values);
  return text.length <= MAX_PART ? text : `#${createHash('sha256').update(text).digest('base64')}`;
}

/** Joins the parts of a key. Parts come from `keyPart`, or are fixed words. */
export function joinKey(action: string, caller: string, target: string, call: string): string {
  return `${action}\n${caller}\n${target}\n${call}`;
}
