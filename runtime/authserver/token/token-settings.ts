import type { AuditEvent } from '#runtime/audit/audit';
import type { RotatingSecretRing } from '#runtime/keys/create-secret-ring';
import type { SigningKeys } from '../keys/signing-keys.ts';
import type { ActiveSession } from '../storage/rows.ts';
import type { AuthStorage } from '../storage/storage.ts';
import type { KnownSessions } from './known-session.ts';

/** Settings of the endpoints that issue and end tokens. Durations are milliseconds. */
export interface TokenSettings {
  readonly storage: AuthStorage;
  readonly secrets: Pick<RotatingSecretRing, 'kid' | 'mac' | 'verify' | 'status' | 'changedAt'>;
  readonly keys: Pick<SigningKeys, 'sign' | 'jwks'>;
  readonly issuer: string;
  readonly lifespans: { readonly access: number; readonly refresh: number };
  /** Resources that tokens are issued for. */
  readonly resources: readonly string[];
  readonly scopesSupported: readonly string[];
  readonly clients: {
    /** Returns whether the client exists. */
    isKnown(clientId: string): Promise<boolean>;
    /** Extends the lifespan of a client in use. */
    use(clientId: string): Promise<void>;
  };
  /** Providers that every login requires. */
  readonly requiredProviders: readonly string[];
  /**
   * Asks the primary provider, if due, whether the user still exists. @throws OAuthError `invalid_grant` when the
   * session has ended; 503 when the provider has not answered for too long
   */
  readonly revalidate: (key: string, session: ActiveSession) => Promise<void>;
  /**
   * Sessions as last read by the token endpoint, which save one read per refresh. Old data only makes the endpoint ask
   * the primary provider earlier. The rotation decides whether a session still exists.
   */
  readonly known: KnownSessions;
  /** Called when a session has ended. It clears caches of the session and of its user's links. */
  readonly ended: (key: string, sub: string) => void;
  readonly record: (event: AuditEvent) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns 32 random bytes in base64url. */
  readonly newId: () => string;
  readonly newJti: () => string;
}
