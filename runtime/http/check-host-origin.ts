import type { IncomingHttpHeaders } from 'node:http';
import { RequestError } from '#runtime/errors';

/** Where the endpoint may be addressed and which web pages may call it. */
interface HostOriginSettings {
  /** Host headers, exactly: `name:port`, or `name` for a default port. */
  readonly hosts: readonly string[];
  /** Names that any port may follow. */
  readonly hostNames: readonly string[];
  /** `.suffix` of names that any port may follow, or `.suffix:port`. */
  readonly hostSuffixes: readonly string[];
  /** Origins of the endpoint itself: no CORS headers are needed for them. */
  readonly ownOrigins: readonly string[];
  /** Origins of other pages that may call. */
  readonly allowedOrigins: readonly string[];
}

type CorsHeaders = Readonly<Record<string, string>>;

export interface HostOriginCheck {
  /**
   * The headers to set on whatever the answer will be; undefined for a caller that is no web page of another origin.
   * @throws RequestError 403, against DNS rebinding and foreign pages
   */
  check(host: string | undefined, origin: string | undefined): CorsHeaders | undefined;
  /** The headers of the 204 to a preflight (an OPTIONS request with Access-Control-Request-Method), besides those of `check`. */
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

/** Builds the check. Its cost does not depend on how many hosts and origins there are. */
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

/** Whether one of the suffixes is that of this name, with one label or several before it. `port` has its colon, or is empty. */
function isBelow(suffixes: ReadonlySet<string>, name: string, port: string): boolean {
  if (suffixes.size === 0 || !HOST_NAME.test(name)) return false;
  for (let dot = name.indexOf('.'); dot > 0; dot = name.indexOf('.', dot + 1)) {
    const suffix = name.slice(dot);
    if (suffixes.has(suffix) || suffixes.has(suffix + port)) return true;
  }
  return false;
}

/** The hosts and origins of an endpoint, from where it is known to be. */
export function hostsAndOrigins(settings: {
  /** resource_url, issuer of the own authorization server, authorization endpoint base: those that are configured. */
  urls: readonly string[];
  /** Where the listener is bound; the port is the real one, never 0. */
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

/** A URL's host as a Host header writes it: a default port may be there or not. */
function hostsOf(url: URL): string[] {
  return url.port === '' ? [url.host, `${url.host}:${url.protocol === 'https:' ? 443 : 80}`] : [url.host];
}

/** Loopback names where the listener answers on loopback: no page of another site can make a browser send them. */
function localNames(host: string): string[] {
  if (['0.0.0.0', '::', 'localhost', '127.0.0.1', '::1'].includes(host)) return ['localhost', '127.0.0.1', '[::1]'];
  return [host.includes(':') ? `[${host}]` : host];
}

/** The usual headers and those that the page asks for: `Mcp-Param-*` and passed-through ones have names of their own. */
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
