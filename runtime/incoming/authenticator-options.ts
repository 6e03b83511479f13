import type { JSONWebKeySet } from 'jose';
import type { SessionCheck } from '#runtime/authserver/auth-server';
import type { Log } from '#runtime/telemetry/log';
import type { DispatcherFor } from './json-client.ts';

/** What boundary 1 gets from the process around it. */
export interface AuthenticatorOptions {
  /** The configured URL of the endpoint: the audience where none is configured. */
  readonly resourceUrl?: string | undefined;
  /** The URL that challenges name as `resource_metadata`; absent: derived from `resourceUrl`. */
  readonly metadataUrl?: string | undefined;
  /** Milliseconds. */
  readonly limits: { readonly jwksMaxAge: number; readonly jwksCooldown: number; readonly introspectionCache: number };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  /** Reads a secret, key or certificate file. */
  readonly readFile: (path: string) => Promise<string>;
  /** The public keys of the authorization server in this process; needed where `incoming.embedded` is set. */
  readonly embeddedKeys?: (() => JSONWebKeySet | Promise<JSONWebKeySet>) | undefined;
  /** Whether a key of it that is not known may come yet, as another replica has seen it first; absent: never. */
  readonly embeddedKeysMayCome?: (() => boolean) | undefined;
  /** The logins of the authorization server in this process; needed where `incoming.embedded` is set. */
  readonly embeddedSessions?: SessionCheck | undefined;
  /** The claim that holds the groups, where `incoming.groups_claim` names none. */
  readonly groupsClaim?: string | undefined;
  /** How connections to the identity provider are made, e.g. through a proxy; absent: directly. */
  readonly dispatcherFor?: DispatcherFor | undefined;
  /** Told of each token whether it was remembered. */
  readonly lookedUp?: ((remembered: boolean) => void) | undefined;
  /** Milliseconds for one call to the identity provider; absent: 5 s. */
  readonly deadline?: number | undefined;
}
