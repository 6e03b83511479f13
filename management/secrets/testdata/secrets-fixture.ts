import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { locateState, type StateFolder } from '#local/state-folder';
import { LocalSecrets } from '../local-secrets.ts';
import type { SealKey } from '../sealed-text.ts';

/** A home with a state folder, for one test. */
export interface SecretsFixture {
  home: string;
  state: StateFolder;
  /** The encrypted file. */
  file: string;
  /** Opens the secrets as a process with this environment, with fast key derivation. */
  open: (environment?: NodeJS.ProcessEnv) => LocalSecrets;
  withPassword: (text?: string) => LocalSecrets;
  remove: () => void;
}

/** Derives a key fast; scrypt takes half a second. Tests of several processes and of the sealed text use scrypt. */
export function deriveFast(password: string, salt = randomBytes(32).toString('base64url')): Promise<SealKey> {
  const bytes = createHash('sha512').update(`${salt} ${password}`).digest();
  return Promise.resolve({ salt, key: bytes.subarray(0, 32), check: bytes.subarray(32, 48) });
}

export const PASSWORD = 'correct horse';

/** Creates one place for each test. */
export function useSecretsFixture(): Omit<SecretsFixture, 'remove'> {
  let fixture: SecretsFixture;
  beforeEach(() => {
    fixture = openSecretsFixture();
  });
  afterEach(() => fixture.remove());
  return {
    get home() {
      return fixture.home;
    },
    get state() {
      return fixture.state;
    },
    get file() {
      return fixture.file;
    },
    open: (environment) => fixture.open(environment),
    withPassword: (text) => fixture.withPassword(text),
  };
}

export function openSecretsFixture(): SecretsFixture {
  const home = mkdtempSync(join(tmpdir(), 'vmcp-secrets-'));
  const state = locateState(join(home, 'state'));
  const open = (environment: NodeJS.ProcessEnv = {}) =>
    new LocalSecrets({ state, environment: { HOME: home, ...environment }, derive: deriveFast });
  return {
    home,
    state,
    file: join(state.path, 'secrets', 'secrets.encrypted'),
    open,
    withPassword: (text = PASSWORD) => open({ VMCP_SECRETS_PASSWORD: text }),
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** Returns code and message of the expected error. */
export async function refusal(call: Promise<unknown>): Promise<[code: unknown, message: string]> {
  const problem = await call.then(
    () => new Error('it was not refused'),
    (refused: unknown) => refused as Error,
  );
  return ['code' in problem ? problem.code : undefined, problem.message];
}
