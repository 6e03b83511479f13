import { createHash } from 'node:crypto';
import { readIfThere } from '#lib/files/write-file';

/**
 * What tells one build from another: a digest of its programs. They name all else of the build by digests of their own. A program
 * that is not there counts as an empty one.
 */
export function fingerprintOf(programs: readonly string[]): string {
  const digest = createHash('sha256');
  for (const program of programs) digest.update(readIfThere(program) ?? '').update('\0');
  return digest.digest('hex').slice(0, 16);
}
