import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigError } from '#runtime/errors';
import type { FollowedRunConfig } from '#runtime/follow-run-config';
import { Gateway } from '#runtime/gateway';
import { createListener, metadataRoutes, type RouteHandler } from '#runtime/http/listener';
import type { Observer } from '#runtime/observer';
import type { ProxySettings } from '#runtime/outgoing/dispatcher';
import { serve } from '#runtime/serve';
import type { Log } from '#runtime/telemetry/log';

export interface RuntimeOptions {
  readonly followed: FollowedRunConfig;
  readonly log: Log;
  readonly observer: Observer;
  readonly version: string;
  readonly proxy: ProxySettings | undefined;
  /** Milliseconds that calls under way get at the end. */
  readonly drain: number;
}

export interface RunningRuntime {
  readonly gateway: Gateway;
  /** The public port as it is bound. */
  readonly address: { readonly host: string; readonly port: number };
  readonly draining: boolean;
  /** Takes no more requests, lets those under way finish, and closes everything. */
  stop(): Promise<void>;
}

/**
 * Serves a run configuration on its public port, and takes its changes over.
 * @throws ConfigError
 */
export async function startRuntime(options: RuntimeOptions): Promise<RunningRuntime> {
  const { followed, log, observer, version, proxy } = options;
  const { config } = followed.current;
  const { tls } = config.listen;
  let route: (path: string) => RouteHandler | undefined = () => undefined;
  const server = createListener({
    tls: tls && { cert: followed.files.read(tls.cert_file), key: followed.files.read(tls.key_file) },
    route: (path) => route(path),
    failed: (error) => log.error('a request failed without an answer', { error }),
  });
  const address = await listenOn(server, config.listen.host, config.listen.port);
  let gateway: Gateway;
  try {
    gateway = await Gateway.open(config, { files: followed.files, log, observer, version, proxy, listening: address });
  } catch (error) {
    server.close();
    throw error;
  }
  for (const warning of gateway.rooms.authenticator.warnings) log.warn(warning);
  route = createRoutes(gateway, address);
  await followed.follow({
    apply: async (next) => {
      checkSamePlace(next.config.listen, config.listen);
      await gateway.apply(next.config);
      route = createRoutes(gateway, address);
      observer.configReloaded('success');
    },
    filesChanged: () => gateway.filesChanged(),
  });
  return new Runtime(options, server, gateway, address);
}

class Runtime implements RunningRuntime {
  readonly gateway: Gateway;
  readonly address: { readonly host: string; readonly port: number };
  draining = false;
  readonly #options: RuntimeOptions;
  readonly #server: Server;

  constructor(options: RuntimeOptions, server: Server, gateway: Gateway, address: { host: string; port: number }) {
    this.#options = options;
    this.#server = server;
    this.gateway = gateway;
    this.address = address;
  }

  async stop(): Promise<void> {
    if (this.draining) return;
    this.draining = true;
    this.#options.followed.close();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    this.gateway.endStreams();
    const deadline = performance.now() + this.#options.drain;
    while (this.gateway.rooms.running.size > 0 && performance.now() < deadline) await pause(20);
    this.#server.closeAllConnections();
    await this.gateway.close();
    await closed;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function createRoutes(
  gateway: Gateway,
  address: { host: string; port: number },
): (path: string) => RouteHandler | undefined {
  const { config } = gateway.rooms;
  const resourceUrl = config.resource_url ?? `http://${address.host}:${address.port}/mcp`;
  const serveMcp: RouteHandler = (req, res) => {
    const { rooms } = gateway;
    if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined) {
      preflight(req, res, gateway);
      return undefined;
    }
    return serve(req, res, rooms);
  };
  const routes = metadataRoutes({ resourceUrl, incoming: config.incoming });
  routes.set('/mcp', serveMcp);
  routes.set(new URL(resourceUrl).pathname, serveMcp);
  return (path) => routes.get(path);
}

const preflight: (...args: [...Parameters<RouteHandler>, Gateway]) => void = (req, res, { rooms }) => {
  try {
    const cors = rooms.hostOrigin.check(req.headers.host, req.headers.origin);
    res.writeHead(204, { ...cors, ...rooms.hostOrigin.preflight(req.headers) }).end();
  } catch {
    res.writeHead(403).end();
  }
};

async function listenOn(server: Server, host: string, port: number): Promise<{ host: string; port: number }> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (cause) {
    throw new ConfigError(
      `port ${port} of ${host} cannot be had (${codeOf(cause)}): stop what uses it, or choose another port`,
      { cause },
    );
  }
  // A TCP server's address is never a pipe's name.
  return { host, port: (server.address() as AddressInfo).port };
}

function codeOf(cause: unknown): string {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : 'unknown';
}

/** Where the process listens is part of its own shape: whoever started it starts it again for that. */
function checkSamePlace(next: object, before: object): void {
  if (JSON.stringify(next) === JSON.stringify(before)) return;
  throw new ConfigError('listen has changed: a running process keeps its ports; start it again to take this over');
}
