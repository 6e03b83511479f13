import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import type { RouteHandler } from '#runtime/http/listener';
import type { Identity } from '#runtime/incoming/identity';
import type { AuthServer, AuthServerStatus, SessionCheck } from './auth-server.ts';
import { assembleRoutes, type Assembly } from './assemble-routes.ts';
import { revokeAssertions } from './assertions/revocations.ts';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import { createSigningKeys } from './keys/create-signing-keys.ts';
import { newKeysMayArrive } from '#runtime/keys/key-rotation';
import {
  closeProviders,
  openProviders,
  openStored,
  readKeyFiles,
  type AuthServerOptions,
  type LastingParts,
  type OpenProviders,
  type Stored,
} from './server-parts.ts';
import { authServerUrls } from './urls.ts';
import { createUserTokens, type StoredUserTokens } from './upstream-tokens/create-user-tokens.ts';
import type { UserTokens } from './user-tokens.ts';

interface ActiveConfig extends Stored {
  readonly config: AuthServerConfig;
  readonly providers: OpenProviders;
  readonly userTokens: StoredUserTokens;
  readonly assembly: Assembly;
}

type CountedRows = Pick<AuthServerStatus, 'secretsInUse' | 'sizes'>;

const UNKNOWN_PROXY =
  'Clients register through a proxy that is none of trustedProxies: their addresses are unknown, so registrations are not limited for each of them. ' +
  'Set trustedProxies to the address ranges of the proxies.';

/** Milliseconds for which the row counts are remembered. */
const COUNTED_FOR = 30_000;

/** Opens the authorization server of a configuration. @throws ConfigError; nothing stays open */
export async function createAuthServer(config: AuthServerConfig, options: AuthServerOptions): Promise<AuthServer> {
  const { now, random } = options;
  const files = readKeyFiles(config, options);
  const secrets = createSecretRing(files.secrets, { now, random });
  const lasting = { keys: await createSigningKeys(files.signing, { now }), secrets };
  const server = new ReloadableAuthServer(options, lasting);
  await server.open(config);
  return server;
}

class ReloadableAuthServer implements AuthServer {
  readonly #options: AuthServerOptions;
  readonly #lasting: LastingParts;
  readonly #linkListeners = new Set<(sub: string) => void>();
  #activeConfig: ActiveConfig | undefined;
  #hasUnknownProxy = false;
  #counted: { readonly at: number; readonly rows: Promise<CountedRows> } | undefined;

  constructor(options: AuthServerOptions, lasting: LastingParts) {
    this.#options = options;
    this.#lasting = lasting;
  }

  readonly route = (path: string): RouteHandler | undefined => this.#activeConfig?.assembly.route(path);
  readonly jwks = () => this.#lasting.keys.jwks;

  /** Boundary 1 keeps this object, so it stays the same across updates. */
  readonly sessions: SessionCheck = {
    claimsOf: (token, oldest) =>
      this.#current.assembly.serves(token) ? this.#current.sessions.claimsOf(token, oldest) : undefined,
  };

  readonly userTokens: UserTokens = {
    get: (identity: Identity, provider) => this.#current.userTokens.get(identity, provider),
    renewIdToken: (identity, provider, isCurrent) =>
      this.#current.userTokens.renewIdToken(identity, provider, isCurrent),
    refused: (identity, provider, token) => this.#current.userTokens.refused(identity, provider, token),
    barred: (identity, provider, token) => this.#current.userTokens.barred(identity, provider, token),
    linkUrl: (identity, provider) => this.#current.userTokens.linkUrl(identity, provider),
    onChange: (listener) => void this.#linkListeners.add(listener),
  };

  get warnings(): readonly string[] {
    const proxies = this.#hasUnknownProxy ? [UNKNOWN_PROXY] : [];
    const providers = [...(this.#activeConfig?.providers.values() ?? [])].flatMap(({ warning }) => warning ?? []);
    const issuers = this.#activeConfig?.assembly.warnings() ?? [];
    return [...this.#lasting.keys.warnings, ...this.#lasting.secrets.warnings, ...providers, ...issuers, ...proxies];
  }

  keysMayCome(): boolean {
    return newKeysMayArrive(this.#lasting.keys, this.#current.storage, this.#options.now());
  }

  async status(): Promise<AuthServerStatus> {
    const { config, storage } = this.#current;
    const urls = authServerUrls(config);
    return {
      storage: storage.kind,
      signingKeys: this.#lasting.keys.status,
      secrets: this.#lasting.secrets.status,
      ...(await this.#countRows()),
      unacknowledged: storage.unacknowledged,
      redirectUris: Object.fromEntries(config.upstreams.map(({ name }) => [name, urls.callback(name)])),
    };
  }

  /** Opens the first configuration. @throws ConfigError */
  async open(config: AuthServerConfig): Promise<void> {
    this.#activeConfig = await this.#make(config, undefined);
  }

  async update(config: AuthServerConfig): Promise<void> {
    const before = this.#current;
    const files = readKeyFiles(config, this.#options);
    // Both lists are checked before one of them changes.
    createSecretRing(files.secrets, this.#options);
    const next = await this.#make(config, before);
    try {
      await this.#lasting.keys.update(files.signing);
    } catch (error) {
      await this.#leave(next, before);
      throw error;
    }
    this.#lasting.secrets.update(files.secrets);
    this.#activeConfig = next;
    this.#counted = undefined;
    await this.#leave(before, next);
    await this.#endBlocked(before.config, next);
  }

  async close(): Promise<void> {
    await this.#leave(this.#current, undefined);
  }

  get #current(): ActiveConfig {
    if (this.#activeConfig === undefined) throw new Error('the authorization server is not open');
    return this.#activeConfig;
  }

  /** Reuses unchanged parts. @throws ConfigError; all parts that it opened are closed */
  async #make(config: AuthServerConfig, before: ActiveConfig | undefined): Promise<ActiveConfig> {
    const opened: (() => Promise<void> | void)[] = [];
    try {
      const stored = await this.#store(config, before, opened);
      const former: OpenProviders = before?.providers ?? new Map();
      const providers = openProviders(config, former, this.#options);
      opened.push(() => closeProviders(providers, former));
      const userTokens = this.#userTokensFor(config, stored, before, opened);
      const open = new Map([...providers].map(([name, { provider }]) => [name, provider]));
      const parts = { ...this.#options, ...this.#lasting, ...stored, config, userTokens, providers: () => open };
      const assembly = assembleRoutes({
        ...parts,
        changed: (sub) => this.#changed(sub),
        unknownProxy: () => this.#noteUnknownProxy(),
      });
      return { config, ...stored, providers, userTokens, assembly };
    } catch (error) {
      for (const close of opened.reverse()) await close();
      throw error;
    }
  }

  async #store(
    config: AuthServerConfig,
    before: ActiveConfig | undefined,
    opened: (() => Promise<void> | void)[],
  ): Promise<Stored> {
    if (before && isSame(before.config.storage, config.storage)) {
      const { storage, sessions, known } = before;
      return { storage, sessions, known };
    }
    const stored = await openStored(config, this.#options);
    opened.push(() => stored.storage.close());
    return stored;
  }

  #userTokensFor(
    config: AuthServerConfig,
    stored: Stored,
    before: ActiveConfig | undefined,
    opened: (() => Promise<void> | void)[],
  ): StoredUserTokens {
    const isKept = before?.storage === stored.storage && isSame(identityOf(before.config), identityOf(config));
    if (isKept) return before.userTokens;
    const userTokens = this.#makeUserTokens(config, stored);
    opened.push(() => userTokens.close());
    return userTokens;
  }

  #makeUserTokens(config: AuthServerConfig, { storage }: Stored): StoredUserTokens {
    const { place, record, log, now } = this.#options;
    const providers = () =>
      new Map([...(this.#activeConfig?.providers ?? [])].map(([name, { provider }]) => [name, provider]));
    const tokens = createUserTokens({
      storage,
      secrets: this.#lasting.secrets,
      place,
      providers,
      record,
      log,
      now,
      issuer: config.issuer,
      connectionsUrl: authServerUrls(config).connections,
    });
    tokens.onChange((sub) => {
      for (const listener of this.#linkListeners) listener(sub);
    });
    return tokens;
  }

  /** Logs the proxy once and keeps its warning in the status until the process ends. */
  #noteUnknownProxy(): void {
    if (this.#hasUnknownProxy) return;
    this.#hasUnknownProxy = true;
    this.#options.log.warn(UNKNOWN_PROXY);
  }

  #changed(sub: string): void {
    this.#current.sessions.forgetUser(sub);
    this.#current.userTokens.changed(sub);
  }

  async #leave(gone: ActiveConfig, other: ActiveConfig | undefined): Promise<void> {
    gone.assembly.close();
    if (gone.userTokens !== other?.userTokens) gone.userTokens.close();
    await closeProviders(gone.providers, other?.providers ?? new Map());
    if (gone.storage !== other?.storage) await gone.storage.close();
  }

  /** A session that ends here stays ended when the user is unblocked. Until then, its tokens are refused anyway. */
  async #endBlocked({ blocked_users: before }: AuthServerConfig, { config, storage }: ActiveConfig): Promise<void> {
    const { now, log } = this.#options;
    for (const sub of config.blocked_users.filter((one) => !before.includes(one))) {
      try {
        await revokeAssertions({ storage, now }, sub);
        await storage.endUser(sub);
      } catch (error) {
        log.warn('the sessions of a blocked user go on after the user is unblocked', { error });
      }
      this.#changed(sub);
    }
  }

  #countRows(): Promise<CountedRows> {
    const { now } = this.#options;
    if (this.#counted === undefined || now() - this.#counted.at >= COUNTED_FOR) {
      this.#counted = { at: now(), rows: this.#readCounts() };
    }
    return this.#counted.rows;
  }

  async #readCounts(): Promise<CountedRows> {
    const { storage } = this.#current;
    try {
      const [secretsInUse, sizes] = await Promise.all([storage.secretsInUse(), storage.sizes()]);
      return { secretsInUse, sizes };
    } catch (error) {
      this.#options.log.warn('what the storage of logins holds cannot be counted', { error });
      return { secretsInUse: undefined, sizes: undefined };
    }
  }
}

function identityOf({ issuer, authorization_endpoint_base_url: base }: AuthServerConfig): unknown {
  return [issuer, base];
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
