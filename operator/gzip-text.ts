import { gzipSync } from 'node:zlib';

/** Compresses a text. Returns the same bytes for the same text. */
export function gzipText(text: string): Buffer {
  return gzipSync(text, { level: 9 });
}
