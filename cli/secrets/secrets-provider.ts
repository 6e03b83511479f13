import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '#lib/files/write-file';
import { createSecret, listSecrets, setUpSecrets, updateSecret } from '#management/operations/secrets';
import type { ProviderType } from '#management/secrets/secrets';
import type { Context } from '../context.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { Refusal } from '../management/refusal.ts';
import { isCluster, type TargetOptions } from '../management/target.ts';
import { SecretInPath } from '#management/records/secret';
import { readPassword, usualPasswordFile } from '#management/secrets/read-password';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

type ProviderDeps = Pick<Context, 'environment' | 'err'>;

export const usualProvider = (target: TargetOptions): ProviderType => (isCluster(target) ? 'kubernetes' : 'encrypted');

/** The encrypted provider takes its password from the environment by default, and creates one if needed. */
export async function setUpProvider(
  api: ManagementApi,
  type: ProviderType,
  password: string | undefined,
  deps: ProviderDeps,
): Promise<string> {
  if (type === 'encrypted' && password === undefined) ensurePassword(deps);
  const { body } = await api.call(setUpSecrets, { body: { provider_type: type, password } });
  return body.message;
}

interface Stored {
  type: ProviderType;
  keys: Set<string>;
}

export async function storedSecrets(api: ManagementApi): Promise<Stored | undefined> {
  try {
    const { body } = await api.call(listSecrets);
    return { type: body.provider_type, keys: new Set(body.keys.map(({ key }) => key)) };
  } catch (problem) {
    if (problem instanceof Refusal && problem.code === 'not_found') return undefined;
    throw problem;
  }
}

export const storedKeys = async (api: ManagementApi): Promise<Set<string> | undefined> =>
  (await storedSecrets(api))?.keys;

export async function keysToWrite(api: ManagementApi, usual: ProviderType, deps: ProviderDeps): Promise<Set<string>> {
  const known = await storedKeys(api);
  if (known) return known;
  await setUpProvider(api, usual, undefined, deps);
  return new Set();
}

/** Runs before the value is asked for. @throws CliError */
export function checkKey(key: string): void {
  const { error } = SecretInPath.safeParse({ key });
  if (error) throw new CliError(EXIT_CODES.input, `${JSON.stringify(key)}: ${error.issues[0]?.message ?? ''}`);
}

export async function putSecret(
  api: ManagementApi,
  key: string,
  value: string,
  known: ReadonlySet<string>,
): Promise<void> {
  if (known.has(key)) await api.call(updateSecret, { params: { key }, body: { value } });
  else await api.call(createSecret, { body: { key, value } });
}

/** Lets only the owner read the file. The first secret needs no other preparation. */
function ensurePassword({ environment, err }: Pick<Context, 'environment' | 'err'>): void {
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
