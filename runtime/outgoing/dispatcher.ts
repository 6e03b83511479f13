import { Agent, type Dispatcher } from 'undici';
import { createProxyDispatcher, isProxied, type ProxySettings } from '#lib/connections/proxy';
import { trustAlso } from '#runtime/http/trust-also';

export interface DispatcherOptions {
  /** PEM text of authorities that count besides the usual ones. */
  readonly caBundle?: string | undefined;
  /** PEM text of the only authorities that count. */
  readonly onlyCaBundle?: string | undefined;
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
  const { caBundle, onlyCaBundle, proxy, connectTimeout, connections, keepAlive = true } = options;
  const trust = onlyCaBundle === undefined ? trustAlso(caBundle) : { ca: onlyCaBundle };
  const connect = { timeout: connectTimeout, ...trust };
  const pool = { connections, ...(!keepAlive && { pipelining: 0 }) };
  if (!isProxied(proxy)) return new Agent({ ...pool, connect });
  return createProxyDispatcher(connect, proxy, pool);
}
