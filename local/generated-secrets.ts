import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { GeneratedSecret } from '#operator/world';
import type { StateFolder } from './state-folder.ts';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';

/** What is in a file of its own, made at the first call. */
function onceInFile(path: string, make: () => string = randomSecret): string {
  const known = readIfThere(path);
  if (known !== undefined && known.length > 0) return known;
  const made = make();
  writeFileAtomic(path, made);
  return made;
}

/** 32 random bytes. */
function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** A private key in PEM, PKCS#8, on the curve P-256. */
function makeSigningKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
}

/** Where each lies: with the server, or with its logins, and then as long as these. */
const KEPT: Record<GeneratedSecret, { below: 'generated' | 'logins'; file: string; make: () => string }> = {
  sealing: { below: 'generated', file: 'sealing', make: randomSecret },
  statusToken: { below: 'generated', file: 'statusToken', make: randomSecret },
  signingKey: { below: 'logins', file: 'signing-key.pem', make: makeSigningKey },
  hmacSecret: { below: 'logins', file: 'hmac-secret', make: randomSecret },
};

/** A secret that is made here for one server, once. `server`: the name of its folder (see `runtimeFolder`). */
export function generatedSecret(state: StateFolder, namespace: string, server: string, which: GeneratedSecret): string {
  const { below, file, make } = KEPT[which];
  const folder = join(state[below], namespace, server);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return onceInFile(join(folder, file), make);
}

const SESSIONS = 'sessions.sqlite';
/** What SQLite calls the files of one database. */
const DATABASE_PARTS = ['', '-wal', '-shm'];

/** Deletes the secrets of a server that is gone, and the sessions that they seal. Its logins stay for a manifest that comes back. */
export function dropGeneratedSecrets(state: StateFolder, namespace: string, server: string): void {
  rmSync(join(state.generated, namespace, server), { recursive: true, force: true });
  for (const part of DATABASE_PARTS)
    rmSync(join(state.logins, namespace, server, `${SESSIONS}${part}`), { force: true });
}

const DAY = 24 * 3600 * 1000;
/** No login lives longer than 30 days, so what nobody has written since is of no use. */
const LOGINS_END = 31 * DAY;
/** A login at a remote server may never be renewed, and serves all the same. */
const REMOTE_LOGINS_END = 400 * DAY;
const REMOTE_LOGIN = 'remote.sqlite';

/** Removes the keys and databases of authorization servers that no login needs any more. `now`: milliseconds since the epoch. */
export function dropOldLogins(state: StateFolder, now: number): void {
  for (const namespace of foldersIn(state.logins)) {
    for (const server of foldersIn(namespace)) {
      const files = readdirSync(server);
      const written = files.map((file) => statSync(join(server, file)).mtimeMs);
      const lifespan = files.includes(REMOTE_LOGIN) ? REMOTE_LOGINS_END : LOGINS_END;
      if (Math.max(0, ...written) < now - lifespan) rmSync(server, { recursive: true, force: true });
    }
  }
}

function foldersIn(path: string): string[] {
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
}

/** Hashes secret values under a key that only this folder has, so that a file's name lets nobody guess its content. */
export function secretDigester(state: StateFolder): (value: string) => string {
  const key = onceInFile(state.digestKey);
  return (value) => createHmac('sha256', key).update(value).digest('hex');
}
