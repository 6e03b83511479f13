import { isLoopbackHost } from '#crds/parts/loopback';
import type { Gateway } from '#runtime/gateway';
import { LocalLogins } from '#runtime/remote-login/local-logins';
import type { Log } from '#runtime/telemetry/log';

/**
 * Logins at remote servers for all callers, at the private port. Undefined: others than who is at this machine reach that port.
 * `port` is the private port as it is bound.
 */
export function openLogins(
  gateway: Gateway,
  privateHost: string,
  port: () => number,
  log: Log,
): LocalLogins | undefined {
  if (!isLoopbackHost(privateHost)) return undefined;
  return new LocalLogins({
    origin: () => `http://127.0.0.1:${port()}`,
    find: (backend) => gateway.rooms.backends.get(backend)?.credential.sharedLogin,
    log,
  });
}
