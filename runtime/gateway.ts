import { readFile } from 'node:fs/promises';
import type { RunConfig } from '#crds/run-config/run-config';
import { createHostOriginCheck, hostsAndOrigins } from '#runtime/http/check-host-origin';
import { metadataUrl } from '#runtime/http/resource-metadata';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { createAuthenticator } from '#runtime/incoming/create-authenticator';
import type { Authenticator } from '#runtime/incoming/identity';
import { Catalogues } from '#runtime/mcp/aggregate/catalogues';
import { ListCache } from '#runtime/mcp/aggregate/list-cache';
import { LIST_KINDS } from '#runtime/mcp/aggregate/list-kinds';
import { createAnnouncer, type Announcer } from '#runtime/mcp/announcer';
import { buildBackends, type LiveBackends } from '#runtime/mcp/backends/build-backends';
import { Deadlines } from '#runtime/mcp/backends/deadlines';
import { endLegs } from '#runtime/mcp/sessions/end-legs';
import type { Session } from '#runtime/mcp/sessions/session';
import { SessionStore } from '#runtime/mcp/sessions/session-store';
import type { ProxySettings } from '#runtime/outgoing/dispatcher';
import { ExchangedTokens } from '#runtime/outgoing/exchanged-tokens';
import { createAuthorizer } from '#runtime/policy/authorize';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { SecretFiles } from '#runtime/secret-files';
import type { Log } from '#runtime/telemetry/log';
import type { Observer } from '#runtime/observer';
import type { Rooms } from '#runtime/rooms';
import type { Trail } from '#runtime/trail';

export interface GatewayOptions {
  readonly files: SecretFiles;
  readonly log: Log;
  readonly observer: Observer;
  readonly version: string;
  readonly proxy: ProxySettings | undefined;
  /** Where the public port is bound; the port is the real one. */
  readonly listening: { readonly host: string; readonly port: number };
}

/** The rooms in force, and how a new run configuration takes the place of the old one without losing a session. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #deadlines = new Deadlines(monotonic);
  readonly #exchanged = new ExchangedTokens({ now: Date.now });
  readonly #lists: ListCache;
  readonly #catalogues: Catalogues;
  readonly #sessions: SessionStore;
  readonly #announcer: Announcer;
  readonly #running = new Set<Trail>();
  #config: RunConfig;
  #backends: LiveBackends;
  #authenticator: Authenticator;
  #authorizer: Authorizer;
  #rooms: Rooms;

  /** @throws ConfigError */
  constructor(config: RunConfig, options: GatewayOptions) {
    this.#options = options;
    this.#config = config;
    this.#lists = new ListCache(monotonic, (backend, kind, list) => {
      if (kind === 'tools') backend.health.tools = list.entries.length;
      if (this.#catalogues.noteArrival(backend.name, kind)) this.#announcer.announce([kind]);
    });
    this.#catalogues = new Catalogues({
      backends: () => this.#backends.all,
      aggregation: () => this.#config.aggregation,
      maxNameLength: () => this.#config.limits.max_name_length,
      listDeadline: () => this.#config.limits.list_deadline,
      lists: this.#lists,
      now: monotonic,
      log: options.log,
    });
    this.#sessions = new SessionStore(sessionLimits(config), monotonic, (session) => this.#ended(session));
    this.#announcer = createAnnouncer({
      invalidate: (backend, kinds) => {
        for (const kind of kinds) this.#lists.invalidate(backend, kind);
        this.#catalogues.invalidate(kinds);
      },
      sessions: () => this.#sessions.all(),
    });
    this.#authenticator = this.#newAuthenticator(config);
    this.#authorizer = this.#newAuthorizer(config);
    this.#backends = this.#newBackends(config, undefined);
    this.#rooms = this.#furnish();
  }

  get rooms(): Rooms {
    return this.#rooms;
  }

  /** Settles when every backend has been asked once. */
  get probed(): Promise<void> {
    return this.#backends.first;
  }

  /**
   * Takes a new run configuration over. All that can fail is made first; then the rooms change in one step.
   * @throws ConfigError, and then the one in force stays
   */
  async apply(next: RunConfig): Promise<void> {
    const before = this.#config;
    const sameIncoming = same(
      [before.incoming, before.resource_url, before.authz?.groups_claim],
      [next.incoming, next.resource_url, next.authz?.groups_claim],
    );
    const samePolicies = same(before.authz, next.authz);
    const authorizer = samePolicies ? this.#authorizer : this.#newAuthorizer(next);
    const authenticator = sameIncoming ? this.#authenticator : this.#newAuthenticator(next);
    const backends = this.#newBackends(next, this.#backends);
    const retired = { authenticator: this.#authenticator, backends: this.#backends };
    this.#config = next;
    this.#authorizer = authorizer;
    this.#authenticator = authenticator;
    this.#backends = backends;
    this.#sessions.limits = sessionLimits(next);
    this.#dropLegs(backends.replaced);
    this.#catalogues.clear();
    this.#rooms = this.#furnish();
    this.#announcer.listChanged(undefined, LIST_KINDS);
    if (!samePolicies) this.#options.observer.policyReloaded();
    if (authenticator !== retired.authenticator) retired.authenticator.close();
    await retired.backends.retire(backends);
  }

  /** Content of files that the configuration names is another now: keys and certificates are read again. */
  filesChanged(): void {
    const retired = this.#authenticator;
    this.#authenticator = this.#newAuthenticator(this.#config);
    this.#rooms = this.#furnish();
    retired.close();
  }

  /** Ends the streams that clients hold open, so that they connect elsewhere. */
  endStreams(): void {
    for (const session of this.#sessions.all()) session.stream?.close();
    this.#announcer.close();
  }

  async close(): Promise<void> {
    this.#announcer.close();
    this.#sessions.close();
    this.#authenticator.close();
    await this.#backends.retire();
    this.#deadlines.close();
  }

  #furnish(): Rooms {
    const { log, version, observer, listening } = this.#options;
    const config = this.#config;
    const { resource_url: resourceUrl, embedded_auth_server_config: authServer } = config;
    const urls = [resourceUrl, authServer?.issuer, authServer?.authorization_endpoint_base_url].filter(
      (url) => url !== undefined,
    );
    return {
      config,
      hostOrigin: createHostOriginCheck(
        hostsAndOrigins({
          urls,
          listen: { ...listening, tls: config.listen.tls !== undefined },
          allowedHosts: config.allowed_hosts,
          allowedOrigins: config.allowed_origins,
        }),
      ),
      authenticator: this.#authenticator,
      authorizer: this.#authorizer,
      backends: this.#backends,
      catalogues: this.#catalogues,
      sessions: this.#sessions,
      announcer: this.#announcer,
      log,
      version,
      running: this.#running,
      finish: (trail) => observer.finished(trail, config),
    };
  }

  #newAuthenticator(config: RunConfig): Authenticator {
    const { limits } = config;
    const resourceUrl = config.resource_url ?? this.#localUrl(config);
    return createAuthenticator(config.incoming, {
      resourceUrl: config.resource_url,
      metadataUrl: metadataUrl(resourceUrl),
      limits: {
        jwksMaxAge: limits.jwks_max_age,
        jwksCooldown: limits.jwks_cooldown,
        introspectionCache: limits.introspection_cache,
      },
      now: Date.now,
      log: this.#options.log,
      readFile: (path) => readFile(path, 'utf8'),
      groupsClaim: config.authz?.groups_claim,
    });
  }

  #newAuthorizer(config: RunConfig): Authorizer {
    return createAuthorizer(config.authz, { log: this.#options.log, metrics: this.#options.observer.policy });
  }

  #newBackends(config: RunConfig, before: LiveBackends | undefined): LiveBackends {
    const { files, log, version, observer, proxy } = this.#options;
    return buildBackends(config, before, {
      files,
      log,
      version,
      proxy,
      exchanged: this.#exchanged,
      deadlines: this.#deadlines,
      now: monotonic,
      wallClock: Date.now,
      countExchange: observer.exchanged,
      policyMetrics: observer.policy,
      changed: (backend) => {
        this.#lists.invalidate(backend.name);
        this.#announcer.listChanged(backend.name, LIST_KINDS);
      },
    });
  }

  #localUrl({ listen }: RunConfig): string {
    const { host, port } = this.#options.listening;
    return `${listen.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`;
  }

  /** Legs at backends that are gone or were made anew; they are opened again when they are needed. */
  #dropLegs(backends: readonly string[]): void {
    if (backends.length === 0) return;
    for (const session of this.#sessions.all()) {
      session.legs = session.legs.filter((leg) => !backends.includes(leg.backend));
    }
  }

  #ended(session: Session): void {
    session.stream?.close();
    // Without its caller's token only backends that take anybody's or a shared credential can be told.
    endLegs(session, ANONYMOUS, {
      ...this.#backends,
      get: (name) => {
        const backend = this.#backends.get(name);
        return backend?.credential.perUser ? undefined : backend;
      },
    });
  }
}

function monotonic(): number {
  return performance.now();
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function sessionLimits({ limits }: RunConfig) {
  return {
    idle: limits.session_idle,
    perPrincipal: limits.sessions_per_principal,
    perReplica: limits.sessions_per_replica,
  };
}
