import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OAuthError } from '../errors.ts';
import { createErrorPages } from '../pages/error-page.ts';
import { createRoutes, type Handlers, type RouteSettings } from '../routes.ts';

/** Name of all test servers on pages. RESOURCE is the audience of tokens. */
export const FRAME = { server: 'mcp.example.com' };
export const RESOURCE = 'https://mcp.example.com/mcp';

/** Test server of all endpoints. Its address is known before its endpoints are mounted. */
export interface RouteServer {
  readonly origin: string;
  /** Serves the given endpoints only. */
  mount(handlers: Partial<Handlers>, settings?: Partial<RouteSettings>): void;
  readonly close: () => Promise<void>;
}

const silent = () => undefined;
const absent = () => Promise.reject(new OAuthError('server_error', 'not here'));
const ABSENT: Handlers = {
  token: absent,
  revoke: absent,
  introspect: undefined,
  metadata: absent,
  jwks: absent,
  register: undefined,
  authorize: undefined,
  consent: undefined,
  callback: undefined,
  connections: undefined,
  changeConnections: undefined,
  sharedCallback: undefined,
  link: undefined,
  followLink: undefined,
};
const USUAL: RouteSettings = {
  basePaths: [''],
  // Trusts the forwarding header of every proxy.
  readSource: (req) => [req.headers['x-forwarded-for']].flat()[0] ?? req.socket.remoteAddress,
  renderErrorPage: createErrorPages(FRAME),
  answered: silent,
  log: { debug: silent, info: silent, warn: silent, error: silent },
};

export async function serveRoutes(): Promise<RouteServer> {
  let route: ReturnType<typeof createRoutes> = () => undefined;
  const server = createServer((req, res) => {
    const handler = route((req.url ?? '/').split('?', 1)[0] ?? '/');
    if (handler) void handler(req, res);
    else res.writeHead(404).end('not ours');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mount(handlers, settings) {
      route = createRoutes({ ...ABSENT, ...handlers }, { ...USUAL, ...settings });
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
