import { Agent, type Dispatcher } from 'undici';
import { createProxyDispatcher, isProxied, type ProxySettings } from '#crds/connections/proxy';

export interface DispatcherOptions {
  /** PEM text; with it only these authorities count. */
  readonly caBundle?: string | undefined;
  readonly proxy?: ProxySettings | undefined;
  /** Milliseconds for TCP and TLS. */
  readonly connectTimeout: number;
  /** Most connections to one origin. */
  readonly connections: number;
  /** false: each request has a connection of its own, so that none meets one that is being closed. */
  readonly keepAlive?: boolean;
}

/** Connections for calls to a URL of the administrator's. Redirects are not followed: undici never does by itself. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { caBundle, proxy, connectTimeout, connections, keepAlive = true } = options;
  const connect = { timeout: connectTimeout, ...(caBundle === undefined ? {} : { ca: caBundle }) };
  const pool = { connections, ...(!keepAlive && { pipelining: 0 }) };
  if (!isProxied(proxy)) return new Agent({ ...pool, connect });
  return createProxyDispatcher(connect, proxy, pool);
}
