import type { AuditEvent } from '#runtime/audit/audit';
import type { LiveSecretRing } from '#runtime/keys/create-secret-ring';
import type { SigningKeys } from '../keys/signing-keys.ts';
import type { LiveSession } from '../storage/rows.ts';
import type { AuthStorage } from '../storage/storage.ts';
import type { KnownSessions } from './known-session.ts';

/** What the endpoints that issue and end tokens are made of. Durations in milliseconds. */
export interface TokenSettings {
  readonly storage: AuthStorage;
  readonly secrets: Pick<LiveSecretRing, 'kid' | 'mac' | 'verify' | 'status' | 'changedAt'>;
  readonly keys: Pick<SigningKeys, 'sign' | 'jwks'>;
  readonly issuer: string;
  readonly lifespans: { readonly access: number; readonly refresh: number };
  /** Resources that tokens are issued for. */
  readonly resources: readonly string[];
  readonly scopesSupported: readonly string[];
  readonly clients: {
    /** Whether there is such a client. */
    isKnown(clientId: string): Promise<boolean>;
    /** It is in use: not to be forgotten for another while. */
    use(clientId: string): Promise<void>;
  };
  /** Providers that a login cannot do without. */
  readonly requiredProviders: readonly string[];
  /**
   * Asks the primary provider, where that is due, whether the user is still there.
   * @throws OAuthError `invalid_grant`, and then the session is gone; 503 where nobody has answered for too long
   */
  readonly revalidate: (key: string, session: LiveSession) => Promise<void>;
  /**
   * Sessions as the storage last gave them to the token endpoint, so that their next refresh costs one look less. What may be old in
   * them only makes the primary provider be asked earlier; whether a session is still there is the rotation's to say.
   */
  readonly known: KnownSessions;
  /** A session is gone: what is remembered of it and of its user's links does not hold any more. */
  readonly ended: (key: string, sub: string) => void;
  readonly record: (event: AuditEvent) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** 32 random bytes in base64url. */
  readonly newId: () => string;
  readonly newJti: () => string;
}
