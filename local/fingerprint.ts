import { createHash } from 'node:crypto';
import { readIfThere } from '#lib/files/write-file';

/** The programs name all other files by digest. A missing program counts as an empty one. */
export function fingerprintOf(programs: readonly string[]): string {
  const digest = createHash('sha256');
  for (const program of programs) digest.update(readIfThere(program) ?? '').update('\0');
  return digest.digest('hex').slice(0, 16);
}
