import type { ServerResponse } from 'node:http';
import express, { type Express, type NextFunction, type Request } from 'express';
import type { RouteHandler } from '#runtime/http/listener';
import { answerFailure } from './answer-failure.ts';
import { jsonAnswer, type Handler } from './handler.ts';
import { PageError } from './page-error.ts';
import { answerPreflight, serveEndpoint, writeAnswer, type Endpoint, type ServeSettings } from './serve-endpoint.ts';

/** Handlers of the endpoints. Undefined: the endpoint does not exist. */
export interface Handlers {
  readonly token: Handler;
  readonly revoke: Handler;
  readonly introspect: Handler | undefined;
  readonly metadata: Handler;
  readonly jwks: Handler;
  readonly register: Handler | undefined;
  readonly authorize: Handler | undefined;
  readonly consent: Handler | undefined;
  /** `params.provider` names the provider. */
  readonly callback: Handler | undefined;
  readonly connections: Handler | undefined;
  readonly changeConnections: Handler | undefined;
  /** `params.backend` names the remote server at which an administrator logged in. */
  readonly sharedCallback: Handler | undefined;
  readonly link: Handler | undefined;
  readonly followLink: Handler | undefined;
}

const DISCOVERY = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'] as const;

/** Returns all endpoints of the authorization server, the most frequent first. */
function endpoints(of: Handlers): readonly Endpoint[] {
  return [
    { method: 'POST', path: '/oauth/token', handle: of.token, kind: 'json', body: 'form', cors: true },
    // Default of MCP 2025-03-26. Some clients, such as Python's, keep their tokens across a restart but not the metadata.
    { method: 'POST', path: '/token', handle: of.token, kind: 'json', body: 'form', cors: true },
    { method: 'GET', path: '/.well-known/jwks.json', handle: of.jwks, kind: 'json', cors: true },
    { method: 'GET', path: DISCOVERY[0], handle: of.metadata, kind: 'json', cors: true },
    { method: 'GET', path: DISCOVERY[1], handle: of.metadata, kind: 'json', cors: true },
    { method: 'POST', path: '/oauth/register', handle: of.register, kind: 'json', body: 'json', cors: true },
    { method: 'POST', path: '/oauth/revoke', handle: of.revoke, kind: 'json', body: 'form', cors: true },
    { method: 'POST', path: '/oauth/introspect', handle: of.introspect, kind: 'json', body: 'form' },
    { method: 'GET', path: '/oauth/authorize', handle: of.authorize, kind: 'page' },
    { method: 'POST', path: '/oauth/authorize', handle: of.authorize, kind: 'page', body: 'form' },
    { method: 'POST', path: '/oauth/consent', handle: of.consent, kind: 'page', body: 'form' },
    { method: 'GET', path: '/oauth/callback/:provider', handle: of.callback, kind: 'page' },
    { method: 'GET', path: '/connections', handle: of.connections, kind: 'page' },
    { method: 'POST', path: '/connections', handle: of.changeConnections, kind: 'page', body: 'form' },
    { method: 'GET', path: '/connections/callback/:backend', handle: of.sharedCallback, kind: 'page' },
    { method: 'GET', path: '/connections/link', handle: of.link, kind: 'page' },
    { method: 'POST', path: '/connections/link', handle: of.followLink, kind: 'page', body: 'form' },
  ];
}

export interface RouteSettings extends ServeSettings {
  /** Paths of the issuer and of `authorization_endpoint_base_url`. Every endpoint is below them too. `''` or `/a/b`. */
  readonly basePaths: readonly string[];
}

export function createRoutes(handlers: Handlers, settings: RouteSettings): (path: string) => RouteHandler | undefined {
  const app = express();
  app.disable('x-powered-by').enable('case sensitive routing').enable('strict routing');
  const exact = new Set<string>();
  const prefixes: string[] = [];
  for (const [path, there] of byPath(endpoints(handlers))) {
    for (const [fixed, parameter] of placesOf(path, settings.basePaths)) {
      if (parameter === '') exact.add(fixed);
      else prefixes.push(fixed);
      mount(app, escapePattern(fixed) + parameter, there, settings);
    }
  }
  app.use((_req: unknown, res: ServerResponse) => {
    writeAnswer(
      res,
      jsonAnswer({ error: 'not_found', error_description: 'There is nothing at this path' }, 404),
      false,
    );
  });
  // Express recognizes an error handler by its four parameters.
  app.use((error: unknown, { path, headers }: Request, res: ServerResponse, next: NextFunction) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    writeAnswer(
      res,
      answerFailure(
        error instanceof URIError ? malformed(error) : error,
        { path, headers },
        { ...settings, kind: 'page' },
      ),
      false,
    );
  });
  const handle: RouteHandler = (req, res) => void app(req, res);
  return (path) => (exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix)) ? handle : undefined);
}

type Served = Endpoint & { readonly handle: Handler };

function byPath(all: readonly Endpoint[]): ReadonlyMap<string, readonly Served[]> {
  const served = all.filter((endpoint): endpoint is Served => endpoint.handle !== undefined);
  return Map.groupBy(served, ({ path }) => path);
}

function mount(app: Express, pattern: string, there: readonly Served[], settings: ServeSettings): void {
  const methods = there.map(({ method }) => method);
  const route = app.route(pattern);
  for (const endpoint of there) {
    const serve = (req: Request<Record<string, string>>, res: ServerResponse) =>
      serveEndpoint(endpoint, req, res, req.params, settings);
    if (endpoint.method === 'GET') route.get(serve);
    else route.post(serve);
  }
  if (there.some(({ cors }) => cors))
    route.options((_req: unknown, res: ServerResponse) => answerPreflight(res, methods));
  route.all((_req: unknown, res: ServerResponse) => {
    const text = `This endpoint answers ${methods.join(' and ')}`;
    const refusal = { error: 'invalid_request', error_description: text };
    writeAnswer(res, jsonAnswer(refusal, 405, { Allow: methods.join(', ') }), false);
  });
}

/** Returns the paths of an endpoint, each as fixed part and parameter. RFC 8414 §3.1 appends the issuer's path. */
function placesOf(path: string, basePaths: readonly string[]): readonly (readonly [string, string])[] {
  const colon = path.indexOf(':');
  const fixed = colon < 0 ? path : path.slice(0, colon);
  const parameter = colon < 0 ? '' : path.slice(colon);
  const isDiscovery = DISCOVERY.some((document) => document === path);
  const all = basePaths.flatMap((base) => (isDiscovery ? [base + fixed, fixed + base] : [base + fixed]));
  return [...new Set([fixed, ...all])].map((place) => [place, parameter] as const);
}

function malformed(cause: URIError): PageError {
  const text = 'Start again from your application.';
  return new PageError({ status: 400, title: 'This address is malformed', text }, { cause });
}

/** Escapes a path from the configuration, which is not a pattern. */
function escapePattern(path: string): string {
  return path.replace(/[{}()[\]+?!:*\\]/g, '\\$&');
}
