import type { IncomingHttpHeaders } from 'node:http';
import { RequestError } from '#runtime/errors';

interface HostOriginSettings {
  /** Exact Host headers: `name:port`, or `name` for a default port. */
  readonly hosts: readonly string[];
  /** Names that are accepted with any port. */
  readonly hostNames: readonly string[];
  /** `.suffix` of names that are accepted with any port, or `.suffix:port`. */
  readonly hostSuffixes: readonly string[];
  /** Origins of the endpoint itself. They need no CORS headers. */
  readonly ownOrigins: readonly string[];
  readonly allowedOrigins: readonly string[];
}

type CorsHeaders = Readonly<Record<string, string>>;

export interface HostOriginCheck {
  /** Returns CORS headers for a page of another origin. @throws RequestError 403, against DNS rebinding and foreign pages */
  check(host: string | undefined, origin: string | undefined): CorsHeaders | undefined;
  /** Returns the headers of the 204 to a preflight (OPTIONS with Access-Control-Request-Method), in addition to those of `check`. */
  preflight(headers: IncomingHttpHeaders): CorsHeaders;
}

const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Last-Event-ID',
  'MCP-Protocol-Version',
  'Mcp-Session-Id',
  'Mcp-Method',
  'Mcp-Name',
];
const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?$/;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/;
const MAX_REQUESTED_HEADERS = 64;

/** Returns the check. Its cost does not depend on the number of hosts and origins. */
export function createHostOriginCheck(settings: HostOriginSettings): HostOriginCheck {
  const hosts = new Set([...settings.hosts, ...settings.hostNames].map((host) => host.toLowerCase()));
  const names = new Set(settings.hostNames.map((name) => name.toLowerCase()));
  const own = new Set(settings.ownOrigins.map((origin) => origin.toLowerCase()));
  const foreign = new Set(settings.allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, '')));
  const suffixes = new Set(settings.hostSuffixes.map((suffix) => suffix.toLowerCase()));
  const isAcceptedHost = (host: string) => {
    const name = host.replace(/:\d{1,5}$/, '');
    return hosts.has(host) || names.has(name) || isBelow(suffixes, name, host.slice(name.length));
  };
  return {
    check(host, origin) {
      if (host === undefined || !(hosts.has(host) || isAcceptedHost(host.toLowerCase()))) throw hostRefused();
      if (origin === undefined) return undefined;
      const asked = origin.toLowerCase();
      if (own.has(asked)) return undefined;
      if (!foreign.has(asked)) throw originRefused();
      return {
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Expose-Headers': 'Mcp-Session-Id, Retry-After, WWW-Authenticate',
        Vary: 'Origin',
      };
    },
    preflight: (headers) => ({
      'Access-Control-Allow-Methods': 'GET, POST, DELETE, OPTIONS',
      'Access-Control-Allow-Headers': allowedHeaders(headers['access-control-request-headers']),
      'Access-Control-Max-Age': '600',
    }),
  };
}

/** Returns whether the name has one or more labels before one of the suffixes. `port` includes its colon, or is empty. */
function isBelow(suffixes: ReadonlySet<string>, name: string, port: string): boolean {
  if (suffixes.size === 0 || !HOST_NAME.test(name)) return false;
  for (let dot = name.indexOf('.'); dot > 0; dot = name.indexOf('.', dot + 1)) {
    const suffix = name.slice(dot);
    if (suffixes.has(suffix) || suffixes.has(suffix + port)) return true;
  }
  return false;
}

export function hostsAndOrigins(settings: {
  /** Configured ones of resource_url, the embedded authorization server's issuer, and the authorization endpoint base. */
  urls: readonly string[];
  /** Bound address of the listener; the port is the actual one, never 0. */
  listen: { host: string; port: number; tls: boolean };
  /** `name`, `name:port`, `*.suffix` or `*.suffix:port`. */
  allowedHosts: readonly string[];
  allowedOrigins: readonly string[];
}): HostOriginSettings {
  const { listen, allowedHosts, allowedOrigins } = settings;
  const scheme = listen.tls ? 'https' : 'http';
  const local = localNames(listen.host).map((name) => new URL(`${scheme}://${name}:${listen.port}`));
  const urls = [...settings.urls.map((url) => new URL(url)), ...local];
  const hasPort = (host: string) => /:\d{1,5}$/.test(host);
  const whole = allowedHosts.filter((host) => !host.startsWith('*.'));
  return {
    hosts: [...urls.flatMap(hostsOf), ...whole.filter(hasPort)],
    hostNames: whole.filter((host) => !hasPort(host)),
    hostSuffixes: allowedHosts.filter((host) => host.startsWith('*.')).map((host) => host.slice(1)),
    ownOrigins: urls.map((url) => url.origin),
    allowedOrigins,
  };
}

/** Returns the forms of a URL's host in Host headers: with and without a default port. */
function hostsOf(url: URL): string[] {
  return url.port === '' ? [url.host, `${url.host}:${url.protocol === 'https:' ? 443 : 80}`] : [url.host];
}

/** Returns the loopback names if the listener answers on loopback. No page of another site can make a browser send them. */
function localNames(host: string): string[] {
  if (['0.0.0.0', '::', 'localhost', '127.0.0.1', '::1'].includes(host)) return ['localhost', '127.0.0.1', '[::1]'];
  return [host.includes(':') ? `[${host}]` : host];
}

/** Returns the usual headers and those that the page requests: `Mcp-Param-*` and passed-through headers have custom names. */
function allowedHeaders(requested: string | undefined): string {
  const names = (requested ?? '')
    .split(',', MAX_REQUESTED_HEADERS)
    .map((name) => name.trim())
    .filter((name) => HEADER_NAME.test(name));
  return [...ALLOWED_HEADERS, ...names].join(', ');
}

function hostRefused(): RequestError {
  return new RequestError({
    status: 403,
    code: 'host_refused',
    text: 'The Host header names no host of this endpoint; add it to allowedHosts if it should',
  });
}

function originRefused(): RequestError {
  return new RequestError({
    status: 403,
    code: 'origin_refused',
    text: 'Pages of this origin may not call the endpoint; add it to allowedOrigins if they should',
  });
}
