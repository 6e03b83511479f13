import { EnvHttpProxyAgent, Pool, type buildConnector, type Dispatcher } from 'undici';

/** The proxy variables of the environment, read in main.ts. */
export interface ProxySettings {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** Whether the environment names a proxy at all. */
export function isProxied(proxy: ProxySettings | undefined): proxy is ProxySettings {
  return proxy?.httpProxy !== undefined || proxy?.httpsProxy !== undefined;
}

/** Milliseconds in which a proxy has to open a way, where nothing is said of connections. */
const USUAL_TIMEOUT = 10_000;

/**
 * Connections to a proxy, for the ways that it opens. Each has to be open in the time that a connection has: requests that wait for one
 * look at no deadline of their own.
 */
export const proxyPool =
  ({ timeout }: buildConnector.BuildOptions) =>
  (origin: URL, options: object): Pool =>
    new Pool(origin, { ...options, headersTimeout: timeout ?? USUAL_TIMEOUT });

/** Connections through the environment's proxies; `connect` holds for those to the server itself. */
export function createProxyDispatcher(
  connect: buildConnector.BuildOptions,
  { httpProxy = '', httpsProxy = '', noProxy = '' }: ProxySettings,
  options: Omit<EnvHttpProxyAgent.Options, 'connect'> = {},
): Dispatcher {
  // Every member is passed, as an absent one would be taken from the environment.
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
