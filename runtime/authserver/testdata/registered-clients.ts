import type { AuthServer } from '#crds/run-config/auth-server';
import { openRegisteredClients, type RegisteredClients } from '../register/registered-clients.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Opens the clients of a configuration. The name of a secret file is the secret. */
export function registeredClients({ clients }: Pick<AuthServer, 'clients'>, now: () => number): RegisteredClients {
  return openRegisteredClients(clients, { allowHttp: false, readFile: (file) => file, proxy: undefined, log, now });
}
