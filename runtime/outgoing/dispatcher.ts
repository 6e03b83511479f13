import { Agent, type Dispatcher } from 'undici';
import { createProxyDispatcher, isProxied, type ProxySettings } from '#lib/connections/proxy';
import { trustAlso } from '#runtime/http/trust-also';

export interface DispatcherOptions {
  /** PEM text of authorities to trust besides the default ones. */
  readonly caBundle?: string | undefined;
  /** PEM text of the only trusted authorities. */
  readonly onlyCaBundle?: string | undefined;
  readonly proxy?: ProxySettings | undefined;
  /** Milliseconds for TCP and TLS. */
  readonly connectTimeout: number;
  readonly connections: number;
  /** false: each request opens a connection, so that none uses a connection that is closing. */
  readonly keepAlive?: boolean;
}

/** Returns a dispatcher for calls to a URL of the administrator. undici follows no redirects. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { caBundle, onlyCaBundle, proxy, connectTimeout, connections, keepAlive = true } = options;
  const trust = onlyCaBundle === undefined ? trustAlso(caBundle) : { ca: onlyCaBundle };
  const connect = { timeout: connectTimeout, ...trust };
  const pool = { connections, ...(!keepAlive && { pipelining: 0 }) };
  if (!isProxied(proxy)) return new Agent({ ...pool, connect });
  return createProxyDispatcher(connect, proxy, pool);
}
