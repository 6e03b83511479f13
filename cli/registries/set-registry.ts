import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { STORED_SECRET } from '#crds/parts/defaults';
import { listRegistries, updateRegistry } from '#management/operations/registries';
import type { RegistrySettings } from '#management/registries/registry-settings';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { FETCHING_FLAGS, namingFlags } from '../management/refusal.ts';
import { showProgress } from '../show-progress.ts';

const DEFAULT = 'default';
const LOOK = 500;

export interface SourceOptions {
  /** The source implements the API of the official registry. */
  api: boolean;
  allowPrivateIp: boolean;
  issuer?: string;
  clientId?: string;
  clientSecretKey?: string;
  audience?: string;
  scope?: string[];
}

interface SetOptions extends SourceOptions {
  wait: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** @throws CliError */
function settingsOf(source: string, options: SourceOptions): RegistrySettings {
  const { api, allowPrivateIp } = options;
  const isUrl = /^https?:\/\//i.test(source);
  if (api && !isUrl) throw new CliError(EXIT_CODES.usage, `--api: ${source} is no URL`);
  const auth = authOf(options);
  return {
    ...(isUrl ? { [api ? 'api_url' : 'url']: source } : { local_path: resolve(source) }),
    allow_private_ip: allowPrivateIp,
    ...(auth && { auth }),
  };
}

function authOf(options: SourceOptions): RegistrySettings['auth'] {
  const { issuer, clientId, clientSecretKey: key, audience, scope: scopes } = options;
  const given = [issuer, clientId, key, audience, scopes];
  if (given.every((one) => one === undefined)) return undefined;
  if (issuer === undefined || clientId === undefined)
    throw new CliError(EXIT_CODES.usage, 'a login takes both --issuer and --client-id');
  return {
    issuer,
    client_id: clientId,
    ...(key !== undefined && { client_secret_ref: `${STORED_SECRET}/${key}` }),
    ...(audience !== undefined && { audience }),
    ...(scopes && { scopes }),
  };
}

/** Prints the URL of a needed login and waits. @throws CliError */
export async function setRegistry(
  api: ManagementApi,
  source: string,
  options: SetOptions,
  context: Context,
  stop: AbortSignal,
): Promise<void> {
  const body = settingsOf(source, options);
  const { err } = context;
  const told = await showProgress(`reading ${source}`, context, () =>
    namingFlags(FETCHING_FLAGS, () => api.call(updateRegistry, { params: { name: DEFAULT }, body })),
  );
  const { login, server_count: count } = told.body;
  if (!login) {
    err.write(`the registry is read from ${source}: ${count} ${count === 1 ? 'server' : 'servers'}\n`);
    return;
  }
  err.write(`Open ${login.verification_uri} and enter ${login.user_code}, until ${login.expires_at}\n`);
  if (!options.wait) return;
  err.write(`logged in: ${await waitForLogin(api, options.timeout, context, stop)} servers\n`);
}

/** Returns the number of servers. @throws CliError with code 3 on timeout */
async function waitForLogin(
  api: ManagementApi,
  patience: number,
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  const since = performance.now();
  return showProgress('waiting for the login', context, async () => {
    for (;;) {
      const found = (await api.call(listRegistries)).body.registries.find(({ name }) => name === DEFAULT);
      if (found?.auth_status === 'authenticated') return found.server_count;
      const late = performance.now() - since > patience;
      if (late || stop.aborted)
        throw new CliError(EXIT_CODES.notRunning, 'the login did not complete: set the registry again');
      await sleep(LOOK, undefined, { signal: stop }).catch(() => undefined);
    }
  });
}
