import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LONGEST_LOGIN_DAYS } from '#crds/parts/defaults';
import type { GeneratedSecret } from '#operator/snapshot';
import type { StateFolder } from './state-folder.ts';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';

function onceInFile(path: string, make: () => string = randomSecret): string {
  const known = readIfThere(path);
  if (known !== undefined && known.length > 0) return known;
  const made = make();
  writeFileAtomic(path, made);
  return made;
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns a P-256 key as PKCS#8 PEM. */
function makeSigningKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
}

/** `generated` belongs to the server, `logins` stays as long as the server's logins. */
const KEPT: Record<GeneratedSecret, { below: 'generated' | 'logins'; file: string; make: () => string }> = {
  sealing: { below: 'generated', file: 'sealing', make: randomSecret },
  statusToken: { below: 'generated', file: 'statusToken', make: randomSecret },
  signingKey: { below: 'logins', file: 'signing-key.pem', make: makeSigningKey },
  hmacSecret: { below: 'logins', file: 'hmac-secret', make: randomSecret },
};

/** Creates the secret on the first call. `server` is the name of its folder (see `runtimeFolder`). */
export function generatedSecret(state: StateFolder, namespace: string, server: string, which: GeneratedSecret): string {
  const { below, file, make } = KEPT[which];
  const folder = join(state[below], namespace, server);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return onceInFile(join(folder, file), make);
}

const SESSIONS = 'sessions.sqlite';
/** SQLite adds these suffixes. */
const DATABASE_PARTS = ['', '-wal', '-shm'];

/** Deletes the sessions that they seal, too. Logins stay, in case the manifest is restored. */
export function dropGeneratedSecrets(state: StateFolder, namespace: string, server: string): void {
  rmSync(join(state.generated, namespace, server), { recursive: true, force: true });
  for (const part of DATABASE_PARTS)
    rmSync(join(state.logins, namespace, server, `${SESSIONS}${part}`), { force: true });
}

const DAY = 24 * 3600 * 1000;
/** All logins in an older file have ended. */
const LOGINS_END = (LONGEST_LOGIN_DAYS + 1) * DAY;
/** A remote login may stay valid without ever being renewed. */
const REMOTE_LOGINS_END = 400 * DAY;
const REMOTE_LOGIN = 'remote.sqlite';

/** Removes only databases whose logins have all expired. `now`: milliseconds since the epoch. */
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

/** The key is private to this folder, so that a file name does not reveal its content. */
export function secretDigester(state: StateFolder): (value: string) => string {
  const key = onceInFile(state.digestKey);
  return (value) => createHmac('sha256', key).update(value).digest('hex');
}
