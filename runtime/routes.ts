import { randomUUID } from 'node:crypto';
import type { Gateway } from '#runtime/gateway';
import { answerError } from '#runtime/http/answer-error';
import { metadataRoutes, type Route, type RouteHandler } from '#runtime/http/listener';
import { endpointUrl } from '#runtime/http/resource-metadata';
import type { SseEndpoint } from '#runtime/mcp/sse-endpoint/sse-endpoint';
import { serve } from '#runtime/serve';

/** Serves the MCP endpoint (also at its prefix and the path of `resource_url`), its metadata (RFC 9728), and the authorization server. */
export function createRoutes(
  gateway: Gateway,
  address: { readonly host: string; readonly port: number },
  sse: SseEndpoint | undefined,
): Route {
  const { config } = gateway.services;
  const resourceUrl = endpointUrl(config, address);
  const answering =
    (handle: RouteHandler): RouteHandler =>
    (req, res) => {
      if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined)
        return handle(req, res);
      preflight(req, res, gateway);
      return undefined;
    };
  const serveMcp = answering((req, res) => serve(req, res, gateway.services));
  const routes = metadataRoutes({ resourceUrl, incoming: config.incoming });
  routes.set('/mcp', serveMcp);
  routes.set(`${config.endpoint_prefix ?? ''}/mcp`, serveMcp);
  routes.set(new URL(resourceUrl).pathname, serveMcp);
  if (sse) for (const prefix of new Set(['', config.endpoint_prefix ?? ''])) addSse(routes, prefix, sse, answering);
  return (path) => routes.get(path) ?? authServerRoute(path, gateway);
}

/** If the endpoint has the same path, its handler serves all requests but those for a stream of HTTP+SSE. */
function addSse(
  routes: Map<string, RouteHandler>,
  prefix: string,
  sse: SseEndpoint,
  answering: (handle: RouteHandler) => RouteHandler,
): void {
  const own = routes.get(`${prefix}/sse`);
  const stream = answering((req, res) => sse.stream(req, res));
  const isStream = ({ method, headers }: Parameters<RouteHandler>[0]) =>
    method === 'GET' && headers['mcp-session-id'] === undefined;
  routes.set(`${prefix}/sse`, (req, res) => (own === undefined || isStream(req) ? stream : own)(req, res));
  routes.set(
    `${prefix}/messages`,
    answering((req, res) => sse.message(req, res)),
  );
}

/** Also checks the host, because cookies of the browser belong to this host. */
function authServerRoute(path: string, gateway: Gateway): RouteHandler | undefined {
  const handle = gateway.services.authServer?.route(path);
  if (!handle) return undefined;
  return (req, res) => {
    try {
      gateway.services.hostOrigin.check(req.headers.host, undefined);
    } catch (error) {
      answerError(res, error, { requestId: randomUUID() });
      return undefined;
    }
    return handle(req, res);
  };
}

function preflight(...[req, res, { services }]: [...Parameters<RouteHandler>, Gateway]): void {
  try {
    const cors = services.hostOrigin.check(req.headers.host, req.headers.origin);
    res.writeHead(204, { ...cors, ...services.hostOrigin.preflight(req.headers) }).end();
  } catch {
    res.writeHead(403).end();
  }
}
