import type { Server } from 'node:net';
import { bindServer } from '#lib/connections/bind-server';
import { ConfigError } from '#runtime/errors';

/** Binds a server; port 0 takes any free port. @returns the bound port @throws ConfigError if the port is not available */
export async function listenOn(server: Server, host: string, port: number): Promise<number> {
  try {
    return await bindServer(server, { host, port });
  } catch (cause) {
    const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : 'unknown';
    throw new ConfigError(
      `port ${port} of ${host} cannot be had (${code}): stop what uses it, or choose another port`,
      { cause },
    );
  }
}
