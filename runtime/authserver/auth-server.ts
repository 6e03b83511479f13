import type { JSONWebKeySet } from 'jose';
import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import type { RouteHandler } from '#runtime/http/listener';
import type { StoredClaim, Identity } from '#runtime/incoming/identity';
import type { Sizes } from './storage/storage.ts';
import type { UserTokens } from './user-tokens.ts';

/** Checks for boundary 1, at each request, that the login behind a token still exists. */
export interface SessionCheck {
  /** Answers with claims at most 5 s, or `oldest` ms, old. Undefined: the login no longer exists. @throws RequestError 503 */
  claimsOf(
    token: Pick<Identity, 'subject' | 'clientId'> & { readonly tsid: string },
    oldest?: number,
  ): Readonly<Record<string, StoredClaim>> | undefined | Promise<Readonly<Record<string, StoredClaim>> | undefined>;
}

export interface AuthServer {
  /** Returns the handler of a path of the public port, or undefined when the path belongs to another component. */
  route(path: string): RouteHandler | undefined;
  readonly jwks: () => JSONWebKeySet;
  /** Returns whether an unknown key may still arrive, because another replica may read a changed key file first. */
  keysMayCome(): boolean;
  readonly sessions: SessionCheck;
  readonly userTokens: UserTokens;
  readonly warnings: readonly string[];
  status(): Promise<AuthServerStatus>;
  /** Applies changed settings or key files and keeps all logins. @throws ConfigError; the former configuration stays active */
  update(config: AuthServerConfig): Promise<void>;
  close(): Promise<void>;
}

export interface AuthServerStatus {
  readonly storage: 'memory' | 'sqlite' | 'redis';
  readonly signingKeys: { readonly kids: readonly string[]; readonly signing: string; readonly ephemeral: boolean };
  readonly secrets: { readonly kids: readonly string[]; readonly making: string; readonly ephemeral: boolean };
  /** Sessions and links that still need a secret, by `kid`. Undefined while the storage does not answer. */
  readonly secretsInUse: Readonly<Record<string, number>> | undefined;
  /** Row counts, at most 30 s old. Undefined while the storage does not answer. */
  readonly sizes: Sizes | undefined;
  readonly unacknowledged: number;
  readonly redirectUris: Readonly<Record<string, string>>;
}
