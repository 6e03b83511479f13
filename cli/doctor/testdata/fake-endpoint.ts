import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request to the fake endpoint. */
interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface Said {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** Returns an answer instead of the correct one; undefined: the correct one. */
export type Flaw = (asked: Asked, origin: string, usual: Said) => Said | undefined;

export const json = (value: unknown, status = 200): Said => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

function metadataOf(origin: string) {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/oauth/authorize`,
    token_endpoint: `${origin}/oauth/token`,
    registration_endpoint: `${origin}/oauth/register`,
    jwks_uri: `${origin}/jwks.json`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
  };
}

function answerMcp({ method, headers, body }: Asked, origin: string): Said {
  if (headers.host !== new URL(origin).host) return { status: 403 };
  if (headers.origin !== undefined && headers.origin !== origin) return { status: 403 };
  const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
  if (headers.authorization !== 'Bearer good') return { status: 401, headers: { 'www-authenticate': challenge } };
  if (method === 'GET') return { status: 405 };
  const { method: rpc } = JSON.parse(body === '' ? '{}' : body) as { method?: string };
  if (rpc === 'initialize') {
    return { ...json({ jsonrpc: '2.0', id: 1, result: {} }), headers: { 'mcp-session-id': 's' } };
  }
  if (rpc === 'server/discover') return json({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no' } }, 400);
  return json({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'unknown tool' } });
}

function answerAuthorize({ query }: Asked, origin: string, known: Set<string>): Said {
  if (!known.has(query.get('client_id') ?? '')) {
    return { status: 400, headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<p>start again</p>' };
  }
  if (query.get('response_type') === 'code')
    return { status: 200, headers: { 'content-type': 'text/html' }, body: 'ok' };
  const redirect = new URL(query.get('redirect_uri') ?? '');
  redirect.searchParams.set('error', 'unsupported_response_type');
  redirect.searchParams.set('iss', origin);
  return { status: 302, headers: { location: redirect.href } };
}

function register({ body }: Asked, known: Set<string>): Said {
  const id = `client-${known.size}`;
  known.add(id);
  return json({ ...(JSON.parse(body) as object), client_id: id }, 201);
}

function answer(asked: Asked, origin: string, known: Set<string>): Said {
  const { path } = asked;
  if (path === '/mcp') return answerMcp(asked, origin);
  if (path.startsWith('/.well-known/oauth-protected-resource')) {
    return json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
  }
  if (path === '/.well-known/oauth-authorization-server' || path === '/.well-known/openid-configuration') {
    return json(metadataOf(origin));
  }
  if (path === '/jwks.json') return json({ keys: [{ kty: 'EC', kid: 'a' }] });
  if (path === '/oauth/register') return register(asked, known);
  if (path === '/oauth/authorize') return answerAuthorize(asked, origin, known);
  if (path === '/oauth/token') return json({ error: 'invalid_client' }, 401);
  return { status: 404 };
}

async function read(request: IncomingMessage): Promise<Asked> {
  let body = '';
  for await (const part of request) body += String(part);
  const url = new URL(request.url ?? '/', 'http://fake');
  return { method: request.method ?? '', path: url.pathname, query: url.searchParams, headers: request.headers, body };
}

/** Serves an endpoint and an authorization server that meet all requirements, except for one flaw. */
export async function serveFakeEndpoint(
  flaw: Flaw = () => undefined,
): Promise<{ origin: string; registered: () => number; close: () => void }> {
  let origin = '';
  const known = new Set<string>();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = await read(request);
    const usual = answer(asked, origin, known);
    const { status, headers, body } = flaw(asked, origin, usual) ?? usual;
    response.writeHead(status, headers).end(body);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    registered: () => known.size,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
