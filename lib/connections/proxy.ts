import { EnvHttpProxyAgent, Pool, type buildConnector, type Dispatcher } from 'undici';

/** The proxy variables of the environment, read in main.ts. */
export interface ProxySettings {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** Returns whether the environment names a proxy. */
export function isProxied(proxy: ProxySettings | undefined): proxy is ProxySettings {
  return proxy?.httpProxy !== undefined || proxy?.httpsProxy !== undefined;
}

/** Milliseconds in which a proxy must open a tunnel if the caller sets no connection timeout. */
const USUAL_TIMEOUT = 10_000;

/**
 * Creates the pool of connections to a proxy. A tunnel must open within the connection timeout, because requests that wait for a tunnel
 * have no deadline of their own.
 */
export const proxyPool =
  ({ timeout }: buildConnector.BuildOptions) =>
  (origin: URL, options: object): Pool =>
    new Pool(origin, { ...options, headersTimeout: timeout ?? USUAL_TIMEOUT });

/** Connects through the environment's proxies. `connect` applies to the connections to the server itself. */
export function createProxyDispatcher(
  connect: buildConnector.BuildOptions,
  { httpProxy = '', httpsProxy = '', noProxy = '' }: ProxySettings,
  options: Omit<EnvHttpProxyAgent.Options, 'connect'> = {},
): Dispatcher {
  // Passes every member, because undici reads absent ones from the environment.
  return new EnvHttpProxyAgent({
    clientFactory: proxyPool(connect),
    ...options,
    connect,
    requestTls: connect,
    httpProxy,
    httpsProxy,
    noProxy,
  });
}

/** Reads the proxy variables of an environment. Lower-case names win, as in other programs. */
export function proxyOf(environment: Readonly<Record<string, string | undefined>>): ProxySettings {
  const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy } = environment;
  return {
    httpProxy: http_proxy ?? HTTP_PROXY,
    httpsProxy: https_proxy ?? HTTPS_PROXY,
    noProxy: no_proxy ?? NO_PROXY,
  };
}
