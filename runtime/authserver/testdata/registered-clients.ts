import type { AuthServer } from '#crds/run-config/auth-server';
import { openRegisteredClients, type RegisteredClients } from '../register/registered-clients.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Settings of key sets. The name of a file is its content. */
export const KEY_SETS = { allowHttp: false, readFile: (file: string) => file, proxy: undefined, log };

/** Opens the clients of a configuration. The name of a secret file is the secret. */
export function registeredClients(
  config: Pick<AuthServer, 'clients' | 'identity_assertions'>,
  now: () => number,
): RegisteredClients {
  return openRegisteredClients(config, { ...KEY_SETS, now });
}
