import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '#lib/files/code-of';
import { readPassword, usualPasswordFile } from '#management/secrets/read-password';
import type { Context } from '../context.ts';

/** Lets only the owner read the file. The first secret needs no other preparation. */
export function ensurePassword({ environment, err }: Pick<Context, 'environment' | 'err'>): void {
  if (readPassword(environment) !== undefined) return;
  const file = usualPasswordFile(environment);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 });
    err.write(
      `Secrets are encrypted with a password that was made now, in ${file}: keep it, without it they are lost.\n`,
    );
  } catch (problem) {
    // Another command created the file at the same time.
    if (codeOf(problem) !== 'EEXIST') throw problem;
  }
}
