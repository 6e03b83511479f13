import type { Server } from 'node:http';
import { gaugesOf } from '#runtime/mcp/backends/show-health';
import type { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { ProxySettings } from '#lib/connections/proxy';
import type { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import type { FollowedRunConfig } from '#runtime/follow-run-config';
import { Gateway } from '#runtime/gateway';
import { acceptNoMore } from '#runtime/http/accept-no-more';
import type { Route } from '#runtime/http/listener';
import { listenOn } from '#runtime/http/listen-on';
import { createOpeningGate } from '#runtime/http/opening-gate';
import { createPrivatePort, type PrivatePort } from '#runtime/http/private-port';
import type { LookUp } from '#runtime/mcp/backends/backend-pods';
import { createObserver, type Observer } from '#runtime/observer';
import { followSseEndpoint } from '#runtime/mcp/sse-endpoint/follow-sse-endpoint';
import { loginPage, openLogins } from '#runtime/open-logins';
import type { LocalLogins } from '#runtime/remote-login/local-logins';
import type { SharedLogin } from '#runtime/remote-login/shared-login';
import { publicServer, readCertificate, renewCertificate, serveCertificate } from '#runtime/public-server';
import { createRoutes } from '#runtime/routes';
import { authServerSnapshot, bufferedIn, createStatus, openStreams } from '#runtime/take-status';
import type { ProcessLog } from '#runtime/telemetry/create-log';
import { createMetrics, type Metrics } from '#runtime/telemetry/metrics';

interface RuntimeOptions {
  readonly followed: FollowedRunConfig;
  readonly log: ProcessLog;
  readonly version: string;
  readonly proxy: ProxySettings | undefined;
  readonly lookUp?: LookUp;
  readonly evictableAfter?: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly auditStream: Writable;
  /** Milliseconds for pending calls at shutdown. */
  readonly drain: number;
}

export interface RunningRuntime {
  readonly gateway: Gateway;
  readonly address: { readonly host: string; readonly port: number; readonly privatePort: number };
  readonly draining: boolean;
  reopenLogs(): void;
  /** Stops accepting requests, finishes pending ones, and closes everything. Later calls return the same promise. */
  stop(): Promise<void>;
}

/** Milliseconds in which open parts must close. */
const CLOSE_WITHIN = 500;
/** Milliseconds in which clients may use an idle connection once more. */
const IDLE_WITHIN = 5_000;

interface Parts {
  readonly server: Server;
  readonly gateway: Gateway;
  readonly privatePort: PrivatePort;
  readonly observer: Observer;
  readonly logins: LocalLogins | undefined;
}

/** Serves on both ports and applies changes. @throws ConfigError; then everything is closed, including the configuration's watch */
export async function startRuntime(options: RuntimeOptions): Promise<RunningRuntime> {
  const opened: Closing[] = [() => options.followed.close()];
  try {
    return await open(options, opened);
  } catch (error) {
    for (const close of opened.reverse()) {
      try {
        await close();
      } catch (reason) {
        options.log.error('closing failed', { error: reason });
      }
    }
    throw error;
  }
}

type Closing = () => Promise<void>;

async function open(options: RuntimeOptions, opened: Closing[]): Promise<RunningRuntime> {
  const { followed, log, version, proxy, environment, lookUp, evictableAfter } = options;
  const { config } = followed.current;
  const { namespace, name } = config.server;
  const metrics = createMetrics({ version, namespace, server: name });
  const observer = await createObserver(config, { ...options, metrics, files: followed.files });
  opened.push(() => observer.close());
  const gate = createOpeningGate();
  let route: Route = gate.route;
  const server = publicServer(options, (path) => route(path));
  const { host } = config.listen;
  const listening = { host, port: await listenOn(server, host, config.listen.port) };
  opened.push(() => closeAtOnce(server));
  const { files } = followed;
  const about = { files, log, observer, version, proxy, environment, lookUp, listening, evictableAfter };
  const gateway = await Gateway.open(config, about);
  opened.push(() => gateway.close());
  const state = { draining: false };
  const { private_host: privateHost } = config.listen;
  const logins = openLogins(gateway, privateHost, () => boundPrivate, log);
  opened.push(() => Promise.resolve(logins?.close()));
  const privatePort = openPrivatePort(options, gateway, metrics, { state, logins, observer });
  const boundPrivate = await privatePort.listen(privateHost, config.listen.private_port);
  opened.push(() => privatePort.close(0));
  const { authenticator, authServer } = gateway.services;
  for (const warning of [...authenticator.warnings, ...(authServer?.warnings ?? [])]) log.warn(warning);
  const sse = followSseEndpoint(() => gateway.services);
  route = createRoutes(gateway, listening, await sse());
  gate.open(route);
  await followed.follow({
    apply: async (next) => {
      await takeOver(next.config, options, { server, gateway, observer });
      route = createRoutes(gateway, listening, await sse());
    },
    refused: () => observer.configReloaded('failure'),
    filesChanged: async (changed) => {
      renewCertificate(server, options, changed);
      await observer.traces.filesChanged();
      return gateway.filesChanged(changed);
    },
  });
  return running(
    options,
    { server, gateway, privatePort, observer, logins },
    { ...listening, privatePort: boundPrivate },
    state,
  );
}

function closeAtOnce(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Applies a new document. Steps that can fail come first. @throws ConfigError */
async function takeOver(
  next: RunConfig,
  { followed, log }: RuntimeOptions,
  { server, gateway, observer }: Pick<Parts, 'server' | 'gateway' | 'observer'>,
) {
  checkSameListener(next, followed.current.config);
  const certificate = readCertificate(next.listen, followed.files);
  const prepared = await observer.prepare(next);
  try {
    await gateway.apply(next);
  } catch (error) {
    prepared.abandon();
    throw error;
  }
  prepared.commit();
  serveCertificate(server, certificate);
  log.setLevel(next.operational.log_level);
  observer.configReloaded('success');
}

function openPrivatePort(
  options: RuntimeOptions,
  gateway: Gateway,
  metrics: Metrics,
  { state, logins, observer }: { state: { draining: boolean } } & Pick<Parts, 'logins' | 'observer'>,
): PrivatePort {
  const { followed, log, version } = options;
  const services = () => gateway.services;
  metrics.watch({
    sessions: () => services().sessions.size,
    streams: () => openStreams(services()),
    buffered: () => bufferedIn(services()),
    running: () => services().running.size,
    backends: () => services().backends.all.map(gaugesOf),
    authRows: async () => (await services().authServer?.status())?.sizes,
  });
  const status = {
    followed,
    services,
    traces: observer.traces,
    auditProblem: observer.auditProblem,
    ready: () => !state.draining,
    draining: () => state.draining,
    loginUrl: (login: SharedLogin) => loginPage(services().config, login) ?? logins?.urlOf(login),
    version,
    now: Date.now,
  };
  return createPrivatePort({
    snapshot: createStatus(status),
    authServer: async () => authServerSnapshot(await services().authServer?.status()),
    renderMetrics: () =>
      services().config.telemetry_config.enablePrometheusMetricsPath ? metrics.render() : undefined,
    login: logins && ((url) => logins.answer(url)),
    readStatusTokens: () => {
      const { status_token_file: file } = services().config;
      return file === undefined ? undefined : followed.files.read(file);
    },
    log,
  });
}

function running(
  options: RuntimeOptions,
  parts: Parts,
  address: RunningRuntime['address'],
  state: { draining: boolean },
): RunningRuntime {
  let stopping: Promise<void> | undefined;
  return {
    gateway: parts.gateway,
    address,
    get draining() {
      return state.draining;
    },
    reopenLogs: () => parts.observer.reopen(),
    stop() {
      state.draining = true;
      return (stopping ??= stop(options, parts));
    },
  };
}

async function stop(
  { followed, drain, log }: RuntimeOptions,
  { server, gateway, privatePort, observer, logins }: Parts,
): Promise<void> {
  logins?.close();
  const unfollowed = followed.close();
  const connections = { open: true };
  const { emptied } = await acceptNoMore(server);
  const closed = emptied.then(() => {
    connections.open = false;
  });
  gateway.endStreams();
  const began = performance.now();
  const keepsIdle = Math.min(IDLE_WITHIN, drain / 4);
  // A written answer may still be in transit, so its connection is not idle yet.
  while ((connections.open || gateway.parkedCalls.awaited > 0) && performance.now() < began + drain) {
    if (performance.now() >= began + keepsIdle) {
      // Also ends streams that began later on a connection that was still open.
      gateway.endStreams();
      server.closeIdleConnections();
    }
    await pause(20);
    // Reads input that has arrived meanwhile: a connection with a pending request is not idle.
    await turn();
  }
  const calls = gateway.services.running.size + gateway.parkedCalls.awaited;
  if (calls > 0) log.warn('calls were cut off at the end', { calls });
  server.closeAllConnections();
  await gateway.close();
  // A pending change of the configuration finds the gateway closed.
  await Promise.race([unfollowed, pause(CLOSE_WITHIN)]);
  await closed;
  // Also stops node's internal connection checks.
  server.close();
  await privatePort.close(CLOSE_WITHIN);
  await observer.close();
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Refuses changed listen settings: they require a restart of the process. */
function checkSameListener(next: RunConfig, before: RunConfig): void {
  const listenerOf = ({ listen }: RunConfig) => JSON.stringify({ ...listen, tls: listen.tls !== undefined });
  if (listenerOf(next) === listenerOf(before)) return;
  const what = 'a running process keeps its ports, and whether they have TLS';
  throw new ConfigError(`listen has changed: ${what}; start it again to take this over`);
}
