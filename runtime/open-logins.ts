import { isLoopbackHost } from '#crds/parts/private-address';
import type { RunConfig } from '#crds/run-config/run-config';
import { authServerUrls } from '#runtime/authserver/urls';
import type { Gateway } from '#runtime/gateway';
import { LocalLogins } from '#runtime/remote-login/local-logins';
import type { SharedLogin } from '#runtime/remote-login/shared-login';
import type { Log } from '#runtime/telemetry/log';

/** Serves shared logins on the private port. Undefined: other machines can reach it. `port`: the bound private port. */
export function openLogins(
  gateway: Gateway,
  privateHost: string,
  port: () => number,
  log: Log,
): LocalLogins | undefined {
  if (!isLoopbackHost(privateHost)) return undefined;
  return new LocalLogins({
    origin: () => `http://127.0.0.1:${port()}`,
    find: (backend) => gateway.services.backends.get(backend)?.credential.sharedLogin,
    log,
  });
}

export function loginPage(
  { embedded_auth_server_config: config }: RunConfig,
  { administrators }: SharedLogin,
): string | undefined {
  return config && administrators.length > 0 ? authServerUrls(config).connections : undefined;
}
