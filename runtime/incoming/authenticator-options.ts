import type { JSONWebKeySet } from 'jose';
import type { SessionCheck } from '#runtime/authserver/auth-server';
import type { Log } from '#runtime/telemetry/log';
import type { DispatcherFor } from './json-client.ts';

export interface AuthenticatorOptions {
  /** The configured URL of the endpoint: the audience if none is configured. */
  readonly resourceUrl?: string | undefined;
  /** The URL that challenges name as `resource_metadata`; absent: derived from `resourceUrl`. */
  readonly metadataUrl?: string | undefined;
  /** Milliseconds. */
  readonly limits: { readonly jwksMaxAge: number; readonly jwksCooldown: number; readonly introspectionCache: number };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly readFile: (path: string) => Promise<string>;
  /** Returns the public keys of the embedded authorization server. Required if `incoming.embedded` is set. */
  readonly embeddedKeys?: (() => JSONWebKeySet | Promise<JSONWebKeySet>) | undefined;
  /** Returns whether an unknown key of the embedded server may still arrive, because another replica saw it first; absent: never. */
  readonly embeddedKeysMayCome?: (() => boolean) | undefined;
  readonly embeddedSessions?: SessionCheck | undefined;
  /** The claim that holds the groups if `incoming.groups_claim` names none. */
  readonly groupsClaim?: string | undefined;
  /** Creates connections to the identity provider, e.g. through a proxy; absent: direct ones. */
  readonly dispatcherFor?: DispatcherFor | undefined;
  readonly lookedUp?: ((remembered: boolean) => void) | undefined;
  /** Milliseconds for one call to the identity provider; absent: 5 s. */
  readonly deadline?: number | undefined;
}
