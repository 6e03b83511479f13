import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';

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
}

/** Connections for calls to a URL of the administrator's. Redirects are not followed: undici never does by itself. */
export function createDispatcher({ caBundle, proxy, connectTimeout, connections }: DispatcherOptions): Dispatcher {
  const tls = caBundle === undefined ? {} : { ca: caBundle };
  const options = { connections, connect: { timeout: connectTimeout, ...tls } };
  if (proxy?.httpProxy === undefined && proxy?.httpsProxy === undefined) return new Agent(options);
  // Every member is passed, as an absent one would be taken from the environment.
  return new EnvHttpProxyAgent({
    ...options,
    requestTls: tls,
    httpProxy: proxy.httpProxy ?? '',
    httpsProxy: proxy.httpsProxy ?? '',
    noProxy: proxy.noProxy ?? '',
  });
}
