import { createHmac, randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { StateFolder } from './state-folder.ts';
import { readIfThere, writeFileAtomic } from './write-file.ts';

/** 32 random bytes in a file of their own, made at the first call. */
function onceInFile(path: string): string {
  const known = readIfThere(path);
  if (known !== undefined && known.length > 0) return known;
  const made = randomBytes(32).toString('base64url');
  writeFileAtomic(path, made);
  return made;
}

export type Generated = 'sealing' | 'statusToken';

/** The secrets that are made here for one server: what it seals its records with, and the token for its /status. */
export function generatedSecret(state: StateFolder, namespace: string, server: string, which: Generated): string {
  const folder = join(state.generated, namespace, server);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return onceInFile(join(folder, which));
}

/** Forgets them: the server is gone. */
export function dropGeneratedSecrets(state: StateFolder, namespace: string, server: string): void {
  rmSync(join(state.generated, namespace, server), { recursive: true, force: true });
}

/** Hashes secret values under a key that only this folder has, so that a file's name lets nobody guess its content. */
export function secretDigester(state: StateFolder): (value: string) => string {
  const key = onceInFile(state.digestKey);
  return (value) => createHmac('sha256', key).update(value).digest('hex');
}
