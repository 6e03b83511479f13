import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { HANDSHAKE_TIMEOUT } from '#lib/connections/share-connections';
import { answerJson } from './answer-json.ts';
import { metadataPaths, resourceMetadata } from './resource-metadata.ts';

interface ListenerOptions {
  /** Certificate and key as PEM; undefined: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Chooses a handler by path; undefined: 404. */
  readonly route: Route;
  readonly failed: (error: unknown) => void;
}

export type RouteHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void> | void;
export type Route = (path: string) => RouteHandler | undefined;

const HEADERS_TIMEOUT = 10_000;
/** Milliseconds for the whole request including its body. Answers may take longer. */
const REQUEST_TIMEOUT = 60_000;
/** Milliseconds. Longer than the idle time of common proxies, so that the proxy closes the connection first. */
const KEEP_ALIVE = 75_000;
const MAX_HEADER_BYTES = 32_768;

/** Returns the server of the public port. It passes requests to the MCP endpoint before any other check. */
export function createListener({ tls, route, failed }: ListenerOptions): Server {
  const settings = {
    headersTimeout: HEADERS_TIMEOUT,
    requestTimeout: REQUEST_TIMEOUT,
    keepAliveTimeout: KEEP_ALIVE,
    maxHeaderSize: MAX_HEADER_BYTES,
    noDelay: true,
  };
  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    try {
      const done = answerRoute(route(pathOf(req.url ?? '/')), req, res);
      if (done instanceof Promise) done.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
  return tls
    ? createTlsServer({ ...settings, ...tls, handshakeTimeout: HANDSHAKE_TIMEOUT }, handle)
    : createServer(settings, handle);
}

/** Calls the handler of a path; answers 404 without one. */
export function answerRoute(handler: RouteHandler | undefined, ...[req, res]: Parameters<RouteHandler>) {
  if (handler) return handler(req, res);
  answerJson(res, 404, '{"error":"not_found","error_description":"There is nothing at this path"}');
  return undefined;
}

/** Returns the unchanged path without its query: no decoding, no folding of slashes or case. */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

/** Returns the routes of the protected resource metadata (RFC 9728), open to every origin. */
export function metadataRoutes(settings: Parameters<typeof resourceMetadata>[0]): Map<string, RouteHandler> {
  const metadata = resourceMetadata(settings);
  if (!metadata) return new Map();
  const body = JSON.stringify(metadata);
  const serve: RouteHandler = (req, res) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      answerJson(res, 405, '{"error":"method_not_allowed"}', { Allow: 'GET, HEAD' });
      return;
    }
    answerJson(res, 200, body, { 'access-control-allow-origin': '*', 'cache-control': 'max-age=300' });
  };
  return new Map(metadataPaths(settings.resourceUrl).map((path) => [path, serve]));
}
