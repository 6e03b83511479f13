import { randomBytes } from 'node:crypto';
import type { RunConfig } from '#crds/run-config/run-config';
import type { AuthServer } from '#runtime/authserver/auth-server';
import type { GatewayOptions } from '#runtime/gateway-options';
import { endpointUrl } from '#runtime/http/resource-metadata';
import { identityKey } from '#runtime/incoming/build-identity';
import { policyReadsOf } from '#runtime/policy/policy-reads';
import type { Services } from '#runtime/services';

export interface PreparedAuthServer {
  readonly server: AuthServer | undefined;
  /** Takes the configuration over. @throws ConfigError; then the former configuration stays active */
  commit(): Promise<void>;
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

/** Owns the authorization server of one gateway, for as long as the configuration has one. */
export class EmbeddedAuthServer {
  readonly #options: GatewayOptions;
  #server: AuthServer | undefined;
  #issuer = '';
  linksChanged: (principal: string) => void = () => undefined;
  services: () => Pick<Services, 'config' | 'authorizer' | 'backends'> | undefined = () => undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  get server(): AuthServer | undefined {
    return this.#server;
  }

  /** Opens a server if there is none yet. @throws ConfigError */
  async prepare(config: RunConfig): Promise<PreparedAuthServer> {
    const before = this.#server;
    const { embedded_auth_server_config: wanted } = config;
    if (wanted === undefined) return this.#without(before);
    const server = before ?? (await this.#open(config, wanted));
    return {
      server,
      commit: async () => {
        if (before) await before.update(wanted);
        this.#issuer = wanted.issuer;
        this.#server = server;
      },
      finish: () => Promise.resolve(),
      abandon: async () => {
        if (server === before) return;
        if (this.#server === server) this.#server = undefined;
        await server.close();
      },
    };
  }

  async filesChanged({ embedded_auth_server_config: config }: RunConfig): Promise<void> {
    if (config === undefined) return;
    try {
      await this.#server?.update(config);
    } catch (error) {
      const reason = error instanceof Error ? error.message : '';
      this.#options.log.error('changed files of the authorization server cannot be used; the former stay', { reason });
    }
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }

  #without(before: AuthServer | undefined): PreparedAuthServer {
    return {
      server: undefined,
      commit: () => Promise.resolve(),
      finish: async () => {
        this.#server = undefined;
        await before?.close();
      },
      abandon: () => Promise.resolve(),
    };
  }

  /** Loads the authorization server's modules only when they are needed. */
  async #open(wanted: RunConfig, config: NonNullable<RunConfig['embedded_auth_server_config']>): Promise<AuthServer> {
    const { files, observer, log, proxy, listening } = this.#options;
    const { createAuthServer } = await import('#runtime/authserver/create-auth-server');
    const created = await createAuthServer(config, {
      place: wanted.server,
      resourceUrl: endpointUrl(wanted, listening),
      readFile: files.read,
      readBytes: files.readBytes,
      readSource: observer.readSource,
      record: observer.record,
      answered: observer.authServerAnswered,
      log,
      proxy,
      sharedLogins: () => this.services()?.backends.all.flatMap((one) => one.credential.sharedLogin ?? []) ?? [],
      policyReads: () => policyReadsOf(this.services()),
      now: Date.now,
      random: randomBytes,
    });
    created.userTokens.onChange((sub) => this.linksChanged(identityKey(this.#issuer, sub)));
    return created;
  }
}
