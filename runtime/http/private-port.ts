import { hash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isLoopbackHost } from '#crds/parts/private-address';
import type { Log } from '#runtime/telemetry/log';
import { listenOn } from './listen-on.ts';
import type { RuntimeStatus } from '#crds/run-config/runtime-status';
import type { StatusSnapshot } from './status-snapshot.ts';

export interface PrivatePortDeps {
  readonly snapshot: () => StatusSnapshot;
  readonly authServer?: () => Promise<RuntimeStatus['auth_server']>;
  readonly renderMetrics: () => Promise<{ contentType: string; text: string }> | undefined;
  /** Bearer tokens of `/status`, one per line: an old one may stay valid for a while. Undefined: no token is required. */
  readonly readStatusTokens: () => string | undefined;
  /** Answers paths below /login/; absent: not served, because other machines can reach the port. */
  readonly login?: ((url: URL) => Promise<LoginAnswer>) | undefined;
  readonly log: Log;
}

interface LoginAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
}

export interface PrivatePort {
  /** @returns the bound port. @throws ConfigError */
  listen(host: string, port: number): Promise<number>;
  /** Finishes pending answers for at most `deadline` milliseconds. */
  close(deadline: number): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}
type Endpoint = (req: IncomingMessage, deps: PrivatePortDeps) => Answer | Promise<Answer>;

const FOREIGN_HOST: Answer = { status: 403, body: 'the Host header names another machine\n' };
const NOT_FOUND: Answer = { status: 404, body: 'not found\n' };
const endpoints = new Map<string, Endpoint>([
  ['/healthz', () => ({ status: 200, body: 'ok\n' })],
  ['/readyz', (_req, deps) => readiness(deps.snapshot())],
  ['/status', (req, deps) => status(req, deps)],
  ['/metrics', (_req, deps) => metrics(deps)],
]);

/** Serves a port that is never exposed, by GET and HEAD only. A loopback port refuses foreign host names, against DNS rebinding. */
export function createPrivatePort(deps: PrivatePortDeps): PrivatePort {
  let isLocal = false;
  const server = createServer((req, res) => {
    const answering = isLocal && !namesThisMachine(req) ? Promise.resolve(FOREIGN_HOST) : respond(req, deps);
    answering.then(
      (answer) => write(res, answer),
      (error: unknown) => {
        deps.log.error('private port failed', { error });
        write(res, { status: 500, body: 'internal error\n' });
      },
    );
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 10_000;
  server.maxConnections = 256;
  return {
    listen(host, port) {
      isLocal = isLoopbackHost(host === '::1' ? '[::1]' : host);
      return listenOn(server, host, port);
    },
    close: (deadline) => closeServer(server, deadline),
  };
}

function namesThisMachine({ headers: { host } }: IncomingMessage): boolean {
  return host === undefined || isLoopbackHost(host.toLowerCase().replace(/:\d{1,5}$/, ''));
}

async function respond(req: IncomingMessage, deps: PrivatePortDeps): Promise<Answer> {
  req.resume();
  const endpoint = endpoints.get((req.url ?? '').replace(/\?.*$/s, ''));
  if (endpoint === undefined) return loginOf(req, deps);
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    return { status: 405, body: 'method not allowed\n', headers: { allow: 'GET, HEAD' } };
  }
  return endpoint(req, deps);
}

/** Answers login paths to GET only: other methods of browsers and scanners must not begin a login. */
async function loginOf({ url = '', method }: IncomingMessage, { login }: PrivatePortDeps): Promise<Answer> {
  const target = url.startsWith('/login/') ? URL.parse(url, 'http://localhost') : null;
  return login && method === 'GET' && target ? login(target) : NOT_FOUND;
}

function write(res: ServerResponse, { status, type = 'text/plain; charset=utf-8', body, headers }: Answer): void {
  const basic = {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  // One by one: login pages write header names in another case, and each header must be sent once.
  for (const [name, value] of [...Object.entries(basic), ...Object.entries(headers ?? {})]) res.setHeader(name, value);
  res.writeHead(status).end(body);
}

function readiness({ ready, draining }: StatusSnapshot): Answer {
  if (ready && !draining) return { status: 200, body: 'ready\n' };
  return { status: 503, body: draining ? 'draining\n' : 'starting\n' };
}

async function status(
  { headers }: IncomingMessage,
  { snapshot, authServer, readStatusTokens }: PrivatePortDeps,
): Promise<Answer> {
  const tokens = readStatusTokens();
  if (tokens !== undefined && !isOneOf(tokens.split('\n'), headers.authorization ?? '')) {
    return { status: 401, body: 'a bearer token is needed\n', headers: { 'www-authenticate': 'Bearer' } };
  }
  return {
    status: 200,
    type: 'application/json',
    body: `${JSON.stringify({ ...snapshot(), auth_server: (await authServer?.()) ?? null })}\n`,
  };
}

async function metrics({ renderMetrics }: PrivatePortDeps): Promise<Answer> {
  const rendered = await renderMetrics();
  return rendered === undefined ? NOT_FOUND : { status: 200, type: rendered.contentType, body: rendered.text };
}

/** Compares digests, so that the time does not depend on a token. An empty line is no token. */
function isOneOf(tokens: readonly string[], authorization: string): boolean {
  const given = /^bearer +(\S+)$/i.exec(authorization)?.[1];
  if (given === undefined) return false;
  const digest = hash('sha256', given, 'buffer');
  return (
    tokens.filter((token) => token.trim() !== '' && timingSafeEqual(hash('sha256', token.trim(), 'buffer'), digest))
      .length > 0
  );
}

async function closeServer(server: Server, deadline: number): Promise<void> {
  if (!server.listening) return;
  const timer = setTimeout(() => server.closeAllConnections(), deadline);
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeIdleConnections();
  });
  clearTimeout(timer);
}
