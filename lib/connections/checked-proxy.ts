import type { LookupFunction } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import { AddressRefused } from './public-lookup.ts';
import { createProxyDispatcher, proxyPool, type ProxySettings } from './proxy.ts';

/**
 * Connects through the environment's proxies. A proxy resolves names itself and may reach private addresses. So it gets an address
 * that the lookup of `connect` accepts, never a name; TLS still checks the name. @throws AddressRefused if the proxy is not an HTTP proxy
 */
export function createCheckedProxyDispatcher(connect: buildConnector.BuildOptions, proxy: ProxySettings): Dispatcher {
  for (const url of [proxy.httpProxy, proxy.httpsProxy]) {
    if (url !== undefined && !/^(https?:|$)/i.test(url))
      throw new AddressRefused('the proxy speaks no HTTP: addresses behind it cannot be checked');
  }
  const lookup = 'lookup' in connect ? connect.lookup : undefined;
  if (lookup === undefined) return createProxyDispatcher(connect, proxy);
  const open = proxyPool(connect);
  return createProxyDispatcher(connect, proxy, {
    // Without a tunnel, the proxy would get the host name and resolve it.
    proxyTunnel: true,
    clientFactory(origin, options) {
      const pool = open(origin, options);
      const tunnel = pool.connect.bind(pool);
      const toAddress = async (target: Dispatcher.ConnectOptions) => {
        const path = await addressOf(target.path, lookup);
        return tunnel({ ...target, path, headers: { ...(target.headers as Record<string, string>), host: path } });
      };
      return Object.assign(pool, { connect: toAddress });
    },
  });
}

/** Returns the address of a CONNECT target `name:port` (RFC 9110 §9.3.6). */
async function addressOf(target: string, lookup: LookupFunction): Promise<string> {
  const { hostname, port } = new URL(`https://${target}`);
  const [address, family] = await look(hostname.replace(/^\[|\]$/g, ''), lookup);
  return `${family === 6 ? `[${address}]` : address}:${port === '' ? '443' : port}`;
}

function look(hostname: string, lookup: LookupFunction): Promise<[address: string, family: number | undefined]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: false }, (error, address, family) => {
      if (error) reject(error);
      else resolve([typeof address === 'string' ? address : (address[0]?.address ?? ''), family]);
    });
  });
}
