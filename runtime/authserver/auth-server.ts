import type { JSONWebKeySet } from 'jose';
import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import type { RouteHandler } from '#runtime/http/listener';
import type { KeptClaim, Identity } from '#runtime/incoming/identity';
import type { Sizes } from './storage/storage.ts';
import type { UserTokens } from './user-tokens.ts';

/** What boundary 1 asks at each request: is the login behind this token still there? */
export interface SessionCheck {
  /**
   * The claims of the login behind `tsid`, which must belong to the same user and client; remembered for at most 5 s, or `oldest`
   * milliseconds. Undefined: there is no such login any more.
   * @throws RequestError 503
   */
  claimsOf(
    token: Pick<Identity, 'subject' | 'clientId'> & { readonly tsid: string },
    oldest?: number,
  ): Readonly<Record<string, KeptClaim>> | undefined | Promise<Readonly<Record<string, KeptClaim>> | undefined>;
}

/** The embedded authorization server of one gateway. */
export interface AuthServer {
  /** Handler of a path of the public port; undefined: not its path. */
  route(path: string): RouteHandler | undefined;
  readonly jwks: () => JSONWebKeySet;
  /** Whether a key that is not known may come yet, as another replica has seen it first. */
  keysMayCome(): boolean;
  readonly sessions: SessionCheck;
  readonly userTokens: UserTokens;
  readonly warnings: readonly string[];
  /** For `/status`. */
  status(): Promise<AuthServerStatus>;
  /**
   * Takes a changed configuration or changed key files over, without losing a login.
   * @throws ConfigError, and then the former stays in force
   */
  update(config: AuthServerConfig): Promise<void>;
  close(): Promise<void>;
}

export interface AuthServerStatus {
  readonly storage: 'memory' | 'sqlite' | 'redis';
  readonly signingKeys: { readonly kids: readonly string[]; readonly signing: string; readonly ephemeral: boolean };
  readonly secrets: { readonly kids: readonly string[]; readonly making: string; readonly ephemeral: boolean };
  /** By `kid`: sessions and links that still need that secret; undefined while the storage does not answer. */
  readonly secretsInUse: Readonly<Record<string, number>> | undefined;
  /** How many rows there were, at most 30 s ago; undefined while the storage does not answer. */
  readonly sizes: Sizes | undefined;
  /** Operations whose replication was not acknowledged in time, since the start. */
  readonly unacknowledged: number;
  readonly redirectUris: Readonly<Record<string, string>>;
}
