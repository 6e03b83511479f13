import type { AuditEvent } from '#runtime/audit/audit';
import type { RotatingSecretRing } from '#runtime/keys/create-secret-ring';
import type { AssertionSettings } from '../assertions/assertion-settings.ts';
import type { SigningKeys } from '../keys/signing-keys.ts';
import type { RegisteredClients } from '../register/registered-clients.ts';
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
  readonly resources: readonly string[];
  readonly scopesSupported: readonly string[];
  readonly clients: {
    isKnown(clientId: string): Promise<boolean>;
    use(clientId: string): Promise<void>;
  };
  /** Clients that the administrator registered. */
  readonly registered: Pick<RegisteredClients, 'get'>;
  readonly assertions: AssertionSettings;
  /** Returns whether the administrator blocked a user. */
  readonly isBlocked: (sub: string) => boolean;
  readonly requiredProviders: readonly string[];
  /** Asks the primary provider, if due. @throws OAuthError `invalid_grant` when the session has ended, 503 after too long a silence */
  readonly revalidate: (key: string, session: ActiveSession) => Promise<void>;
  /** Saves one read per refresh. Old data only makes the endpoint ask the provider earlier; the rotation decides about the session. */
  readonly known: KnownSessions;
  readonly ended: (key: string, sub: string) => void;
  readonly record: (event: AuditEvent) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns 32 random bytes in base64url. */
  readonly newId: () => string;
  readonly newJti: () => string;
}
