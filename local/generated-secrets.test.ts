import { createPrivateKey } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dropGeneratedSecrets, dropOldLogins, generatedSecret } from './generated-secrets.ts';
import { locateState, openState, type StateFolder } from './state-folder.ts';
import { writeFileAtomic } from '#lib/files/write-file';

const DAY = 24 * 3600 * 1000;
let path: string;
let state: StateFolder;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'vmcp-state-'));
  state = locateState(join(path, '.vmcp'));
  openState(state);
});
afterEach(() => rmSync(path, { recursive: true, force: true }));

const loginsOf = (server: string) => join(state.logins, 'default', server);
const mode = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe('generatedSecret', () => {
  it('creates keys once and returns the same keys at the next start', () => {
    for (const which of ['signingKey', 'hmacSecret'] as const) {
      const made = generatedSecret(state, 'default', 'demo', which);
      expect(generatedSecret(locateState(state.path), 'default', 'demo', which)).toBe(made);
      expect(generatedSecret(state, 'default', 'other', which)).not.toBe(made);
    }
  });

  it('creates a P-256 private key in PKCS#8, and 32 random bytes', () => {
    const pem = generatedSecret(state, 'default', 'demo', 'signingKey');
    expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    const key = createPrivateKey(pem);
    expect([key.asymmetricKeyType, key.asymmetricKeyDetails?.namedCurve]).toEqual(['ec', 'prime256v1']);
    expect(Buffer.from(generatedSecret(state, 'default', 'demo', 'hmacSecret'), 'base64url')).toHaveLength(32);
  });

  it('writes files that only their owner can read, in a folder that version control ignores', () => {
    generatedSecret(state, 'default', 'demo', 'signingKey');
    generatedSecret(state, 'default', 'demo', 'hmacSecret');
    expect(readdirSync(loginsOf('demo')).sort()).toEqual(['hmac-secret', 'signing-key.pem']);
    for (const file of readdirSync(loginsOf('demo'))) expect(mode(join(loginsOf('demo'), file))).toBe('600');
    for (const folder of [state.path, state.logins, loginsOf('demo')]) expect(mode(folder)).toBe('700');
    expect(readFileSync(join(state.path, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('keeps the keys when their server is deleted, so that a restored manifest logs no user out', () => {
    const made = generatedSecret(state, 'default', 'demo', 'signingKey');
    const sealing = generatedSecret(state, 'default', 'demo', 'sealing');
    dropGeneratedSecrets(state, 'default', 'demo');
    expect(generatedSecret(state, 'default', 'demo', 'signingKey')).toBe(made);
    expect(generatedSecret(state, 'default', 'demo', 'sealing')).not.toBe(sealing);
  });

  it('deletes keys together with the sessions that they seal, but keeps logins', () => {
    generatedSecret(state, 'default', 'demo', 'hmacSecret');
    const files = ['sessions.sqlite', 'sessions.sqlite-wal', 'logins.sqlite'].map((name) =>
      join(loginsOf('demo'), name),
    );
    for (const file of files) writeFileAtomic(file, 'rows');
    dropGeneratedSecrets(state, 'default', 'demo');
    expect(files.map((file) => existsSync(file))).toEqual([false, false, true]);
  });

  it('deletes keys 31 days after the last login was written, because no login lives longer', () => {
    const now = Date.now();
    for (const server of ['unused', 'used']) {
      generatedSecret(state, 'default', server, 'signingKey');
      utimesSync(join(loginsOf(server), 'signing-key.pem'), (now - 40 * DAY) / 1000, (now - 40 * DAY) / 1000);
    }
    writeFileAtomic(join(loginsOf('used'), 'logins.sqlite'), 'rows');
    dropOldLogins(state, now);
    expect([existsSync(loginsOf('unused')), existsSync(loginsOf('used'))]).toEqual([false, true]);
  });
});
