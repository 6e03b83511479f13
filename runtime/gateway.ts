import { performance } from 'node:perf_hooks';
import type { RunConfig } from '#crds/run-config/run-config';
import { buildAuthenticator } from '#runtime/build-authenticator';
import { buildHostOriginCheck } from '#runtime/build-host-origin-check';
import { EmbeddedAuthServer } from '#runtime/embedded-auth-server';
import type { GatewayOptions } from '#runtime/gateway-options';
import { ConfigError } from '#runtime/errors';
import { Catalogues } from '#runtime/mcp/aggregate/catalogues';
import { ListCache } from '#runtime/mcp/aggregate/list-cache';
import { kindsOfNotification, LIST_KINDS, type ListKind } from '#runtime/mcp/aggregate/list-kinds';
import { createListChangedNotifier, type ListChangedNotifier } from '#runtime/mcp/list-changed-notifier';
import { createCatalogueWarmup, type CatalogueWarmup } from '#runtime/mcp/catalogue-warmup';
import { NO_BACKENDS } from '#runtime/mcp/backends/build-backends';
import { Deadlines } from '#runtime/mcp/backends/deadlines';
import { buildActiveConfig, closeActiveConfig, type ActiveConfig } from '#runtime/build-active-config';
import { loadServerPolicies, renewAuthenticator, type MakingDeps } from '#runtime/build-active-config';
import { RetiredBackends } from '#runtime/mcp/backends/retired-backends';
import { BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import { ListenStreams } from '#runtime/mcp/bridge/to-modern/listen-streams';
import { ParkedCalls } from '#runtime/mcp/bridge/to-legacy/parked-calls';
import { dropBackendSessionsAt, SESSION_ENDS } from '#runtime/mcp/sessions/end-backend-sessions';
import type { ReplicaEvent } from '#runtime/mcp/sessions/replica-events';
import { sessionLimits, type SessionLimits } from '#runtime/mcp/sessions/session-limits';
import { SessionStore } from '#runtime/mcp/sessions/session-store';
import { SessionSharing, type PreparedSharing } from '#runtime/session-sharing';
import { StreamQuota } from '#runtime/mcp/sessions/stream-quota';
import { Tasks } from '#runtime/mcp/tasks/tasks';
import { ExchangedTokens } from '#runtime/outgoing/exchanged-tokens';
import type { Authorizer } from '#runtime/policy/authorizer';
import { NO_LIMITS } from '#runtime/rate-limits/open-rate-limits';
import type { Services } from '#runtime/services';
import type { RequestRecord } from '#runtime/request-record';
import { InFlight } from '#runtime/in-flight';

/** Holds the active configuration and replaces it with a new one without losing a session. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #deadlines = new Deadlines(monotonic);
  readonly #bufferedBytes: BufferedBytes;
  readonly parkedCalls = new ParkedCalls(() => this.#sharing);
  readonly #listenStreams = new ListenStreams(() => this.#sharing);
  readonly #exchanged = new ExchangedTokens({ now: Date.now });
  readonly #lists: ListCache;
  readonly #catalogues: Catalogues;
  readonly #sessions: SessionStore;
  readonly #sharing: SessionSharing;
  readonly #streams = new StreamQuota(() => sessionLimits(this.#active.config));
  readonly #tasks = new Tasks({ seal: () => this.#sharing.sealing, config: () => this.#active.config });
  readonly #notifier: ListChangedNotifier;
  readonly #running = new InFlight<RequestRecord>();
  readonly #warmup: CatalogueWarmup;
  readonly #retired: RetiredBackends;
  readonly #embedded: EmbeddedAuthServer;
  #isClosed = false;
  #active: ActiveConfig;
  #services: Services;

  /** @throws ConfigError */
  static async open(config: RunConfig, options: GatewayOptions): Promise<Gateway> {
    const authorizer = await loadServerPolicies(config, options);
    const embedded = new EmbeddedAuthServer(options);
    let close = () => embedded.close();
    try {
      await (await embedded.prepare(config)).commit();
      const gateway = new Gateway(config, authorizer, options, embedded);
      embedded.services = () => gateway.services;
      close = () => gateway.close();
      await gateway.apply(config);
      return gateway;
    } catch (error) {
      await close();
      throw error;
    }
  }

  private constructor(
    config: RunConfig,
    authorizer: Authorizer,
    options: GatewayOptions,
    embedded: EmbeddedAuthServer,
  ) {
    this.#options = options;
    this.#bufferedBytes = new BufferedBytes(config.limits.buffered_bytes);
    this.#embedded = embedded;
    this.#retired = new RetiredBackends(options.log, monotonic);
    this.#lists = new ListCache(monotonic, (backend, kind, list, before) => {
      if (kind !== 'templates') backend.health[kind] = list.entries.length;
      this.#notifier.announce(this.#catalogues.noteArrival(backend.name, kind, list, before));
    });
    this.#catalogues = new Catalogues({
      backends: () => this.#active.backends.all,
      aggregation: () => this.#active.config.aggregation,
      maxNameLength: () => this.#active.config.limits.max_name_length,
      listDeadline: () => this.#active.config.limits.list_deadline,
      missesAway: () => this.#active.config.operational.failure_handling.partial_failure_mode === 'fail',
      sessionIdle: () => this.#active.config.limits.session_idle,
      ...{ lists: this.#lists, now: monotonic, log: options.log },
    });
    const ends = { ...SESSION_ENDS, evicted: options.observer.sessionEvicted };
    this.#sessions = new SessionStore(this.#limitsOf(config), monotonic, ends);
    this.#sharing = this.#createSharing();
    this.#notifier = createListChangedNotifier({
      invalidate: (backend, kinds) => this.#invalidate(backend, kinds),
      sessions: () => this.#sessions.all(),
      tellOthers: (backend, kinds) => this.#sharing.tell({ type: 'lists', backend, kinds }),
      now: monotonic,
    });
    embedded.linksChanged = (principal) => {
      this.#linksChanged(principal);
      this.#sharing.tell({ type: 'links', principal });
    };
    this.#warmup = createCatalogueWarmup(() => this.#services);
    const authenticator = buildAuthenticator(config, options, embedded.server);
    this.#active = { config, authServer: embedded.server, authenticator, authorizer, ...NOTHING };
    this.#services = this.#buildServices();
  }

  get services(): Services {
    return this.#services;
  }

  /** Settles when every backend has been probed once. */
  get probed(): Promise<void> {
    return this.#active.backends.first;
  }

  /** Builds every part that can fail, then swaps all parts at once. @throws ConfigError; then the former configuration stays active */
  async apply(next: RunConfig): Promise<void> {
    const before = this.#active;
    const { observer } = this.#options;
    const prepared = await this.#embedded.prepare(next);
    let sharing: PreparedSharing | undefined;
    let made: ActiveConfig | undefined;
    try {
      sharing = await this.#sharing.prepare(next);
      made = await buildActiveConfig(next, before, prepared.server, this.#lasting());
      await prepared.commit();
      sharing.commit();
      if (this.#isClosed) throw new ConfigError('the gateway is stopping: nothing is taken over any more');
    } catch (error) {
      if (made) await closeActiveConfig(made, before);
      await prepared.abandon();
      await sharing?.abandon();
      throw error;
    }
    this.#active = made;
    this.#sessions.limits = this.#limitsOf(next);
    this.#bufferedBytes.limit = next.limits.buffered_bytes;
    dropBackendSessionsAt(made.backends.replaced, this.#sessions.all());
    for (const backend of made.backends.replaced) this.#lists.drop(backend);
    this.#catalogues.clear();
    this.#services = this.#buildServices();
    this.#notifier.listChanged(undefined, LIST_KINDS);
    this.#warmup.look();
    if (made.authorizer !== before.authorizer) observer.policyReloaded();
    if (made.authenticator !== before.authenticator) before.authenticator.close();
    made.rateLimits.takeOver();
    this.#retire(before, made);
    await prepared.finish();
    await sharing.finish();
  }

  async filesChanged(files: readonly string[]): Promise<void> {
    for (const { name, config } of this.#active.backends.all) {
      const settings = JSON.stringify(config);
      if (files.some((file) => settings.includes(JSON.stringify(file)))) this.#forgetLists(name);
    }
    await this.#embedded.filesChanged(this.#active.config);
    this.#sharing.filesChanged(this.#active.config);
    const { authenticator: former, config } = this.#active;
    this.#active = { ...this.#active, authenticator: renewAuthenticator(this.#active, this.#options) };
    this.#services = this.#buildServices();
    if (this.#active.authenticator !== former) former.close();
    if (this.#active.backends.isIncomplete) await this.apply(config);
  }

  /** Ends the open streams of clients, so that the clients reconnect elsewhere. */
  endStreams(): void {
    for (const session of this.#sessions.all()) session.stream?.close();
    this.#notifier.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#warmup.close();
    this.#notifier.close();
    await this.#sharing.close();
    this.#sessions.close();
    this.#active.authenticator.close();
    this.#active.rateLimits.close();
    await this.#retired.close();
    await this.#active.backends.close();
    await this.#embedded.close();
    this.#deadlines.close();
  }

  /** Requests in flight finish at their former backends and count in the former limits. */
  #retire(before: ActiveConfig, next: ActiveConfig): void {
    const begun = this.#running.all().filter(({ req }) => req.method === 'POST');
    const isCall = (call: RequestRecord) => this.#running.has(call) && call.method !== LISTEN;
    const counters = before.rateLimits.leave(next.rateLimits);
    const limits = counters ? [{ name: 'rate limits', running: 0, close: () => counters.close() }] : [];
    this.#retired.add([...before.backends.leave(next.backends), ...limits], () => begun.some(isCall));
  }

  #buildServices(): Services {
    const { log, version, observer, listening } = this.#options;
    const { config, authServer, authenticator, authorizer, backends, rateLimits } = this.#active;
    return {
      config,
      hostOrigin: buildHostOriginCheck(config, listening),
      authenticator,
      authServer,
      authorizer,
      rateLimits: rateLimits.limiter,
      backends,
      ...{ catalogues: this.#catalogues, sessions: this.#sessions, streams: this.#streams, tasks: this.#tasks },
      readSource: observer.readSource,
      bufferedBytes: this.#bufferedBytes,
      listChangedNotifier: this.#notifier,
      log,
      version,
      latest: () => this.#services,
      running: this.#running,
      ...observer.requests,
    };
  }

  #lasting(): MakingDeps {
    return {
      options: this.#options,
      now: monotonic,
      exchanged: this.#exchanged,
      deadlines: this.#deadlines,
      bufferedBytes: this.#bufferedBytes,
      parkedCalls: this.parkedCalls,
      listenStreams: this.#listenStreams,
      apps: this.#catalogues.apps,
      listChanged: (backend, method) => this.#notifier.listChanged(backend, kindsOfNotification(method)),
      credentialChanged: (backend) => this.#forgetLists(backend),
      changed: (backend) => {
        this.#lists.invalidate(backend.name);
        this.#notifier.listChanged(backend.name, LIST_KINDS);
        this.#warmup.look();
      },
    };
  }

  #createSharing(): SessionSharing {
    const { files, log, observer } = this.#options;
    return new SessionSharing({
      table: this.#sessions,
      backends: () => this.#active.backends,
      changedSince: (time) => this.#notifier.changedSince(time),
      onEvent: (event) => this.#onEvent(event),
      missed: () => {
        this.#lists.invalidateFor(undefined);
        this.#invalidate(undefined, LIST_KINDS);
      },
      evicted: observer.sessionEvicted,
      files,
      now: monotonic,
      wallClock: Date.now,
      log,
    });
  }

  #limitsOf(config: RunConfig): SessionLimits {
    return sessionLimits(config, this.#options.evictableAfter);
  }

  /** Drops the cached lists of a backend whose credential has changed: they may not match the new credential. */
  #forgetLists(backend: string): void {
    this.#lists.drop(backend);
    this.#catalogues.invalidate();
  }

  #invalidate(backend: string | undefined, kinds: readonly ListKind[]): void {
    for (const kind of kinds) this.#lists.invalidate(backend, kind);
    this.#catalogues.invalidate(kinds);
  }

  #linksChanged(principal: string): void {
    this.#lists.invalidateFor(principal);
    this.#catalogues.invalidateFor(principal);
    this.#notifier.announceTo(principal, LIST_KINDS);
  }

  #onEvent(event: ReplicaEvent): void {
    if (event.type === 'lists') this.#notifier.listChanged(event.backend, event.kinds);
    if (event.type === 'links') this.#linksChanged(event.principal);
    if ('retry' in event) this.parkedCalls.take(event);
    if ('watch' in event) this.#listenStreams.take(event);
  }
}

const LISTEN = 'subscriptions/listen'; // Remains open for as long as its client wants.
const NOTHING = { backends: NO_BACKENDS, rateLimits: NO_LIMITS }; // Before the first configuration is applied.
const monotonic = () => performance.now(); // A local function: the global `performance` is an accessor that is evaluated at each use.
