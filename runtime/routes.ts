import { randomUUID } from 'node:crypto';
import type { Gateway } from '#runtime/gateway';
import { answerError } from '#runtime/http/answer-error';
import { metadataRoutes, type Route, type RouteHandler } from '#runtime/http/listener';
import { endpointUrl } from '#runtime/http/resource-metadata';
import { serve } from '#runtime/serve';

/**
 * The paths of the public port: the MCP endpoint, also below its prefix and at the path of `resource_url`, its metadata
 * (RFC 9728), and those of the authorization server where there is one.
 */
export function createRoutes(gateway: Gateway, address: { readonly host: string; readonly port: number }): Route {
  const { config } = gateway.rooms;
  const resourceUrl = endpointUrl(config, address);
  const serveMcp: RouteHandler = (req, res) => {
    if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined)
      return serve(req, res, gateway.rooms);
    preflight(req, res, gateway);
    return undefined;
  };
  const routes = metadataRoutes({ resourceUrl, incoming: config.incoming });
  routes.set('/mcp', serveMcp);
  routes.set(`${config.endpoint_prefix ?? ''}/mcp`, serveMcp);
  routes.set(new URL(resourceUrl).pathname, serveMcp);
  return (path) => routes.get(path) ?? authServerRoute(path, gateway);
}

/** Requests that name another host are refused there too: what a browser holds is meant for this one. */
function authServerRoute(path: string, gateway: Gateway): RouteHandler | undefined {
  const handle = gateway.rooms.authServer?.route(path);
  if (!handle) return undefined;
  return (req, res) => {
    try {
      gateway.rooms.hostOrigin.check(req.headers.host, undefined);
    } catch (error) {
      answerError(res, error, { requestId: randomUUID() });
      return undefined;
    }
    return handle(req, res);
  };
}

/** The question of a web page's browser whether it may call. */
function preflight(...[req, res, { rooms }]: [...Parameters<RouteHandler>, Gateway]): void {
  try {
    const cors = rooms.hostOrigin.check(req.headers.host, req.headers.origin);
    res.writeHead(204, { ...cors, ...rooms.hostOrigin.preflight(req.headers) }).end();
  } catch {
    res.writeHead(403).end();
  }
}
