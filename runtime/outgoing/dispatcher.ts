import { Agent, EnvHttpProxyAgent, type buildConnector, type Dispatcher } from 'undici';

/** The proxy variables of the environment, read in main.ts. */
export interface ProxySettings {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

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

/** Whether the environment names a proxy at all. */
export function isProxied(proxy: ProxySettings | undefined): proxy is ProxySettings {
  return proxy?.httpProxy !== undefined || proxy?.httpsProxy !== undefined;
}

/** Connections through the environment's proxies; `connect` holds for those to the server itself. */
export function createProxyDispatcher(
  connect: buildConnector.BuildOptions,
  { httpProxy = '', httpsProxy = '', noProxy = '' }: ProxySettings,
  options: Omit<EnvHttpProxyAgent.Options, 'connect'> = {},
): Dispatcher {
  // Every member is passed, as an absent one would be taken from the environment.
  return new EnvHttpProxyAgent({ ...options, connect, requestTls: connect, httpProxy, httpsProxy, noProxy });
}
