import type { Audit } from '#runtime/audit/audit';
import type { Log } from '#runtime/telemetry/log';
import type { Browsers } from '../browser/browsers.ts';
import type { LoginRowSettings } from './login-rows.ts';
import type { SecretRing } from '#runtime/keys/secret-ring';
import type { Chain } from '../chain.ts';
import type { ServerIdentity } from '../keys/aad.ts';
import type { AuthServerUrls } from '../urls.ts';
import type { UpstreamProvider } from '../upstream/provider.ts';

export interface ChainSettings extends LoginRowSettings {
  readonly urls: Pick<AuthServerUrls, 'issuer' | 'callback' | 'connections'>;
  readonly chain: Chain;
  readonly providers: () => ReadonlyMap<string, UpstreamProvider>;
  readonly browsers: Browsers;
  readonly secrets: SecretRing;
  readonly place: ServerIdentity;
  /** Lifespan of a code in milliseconds. */
  readonly codeLifespan: number;
  readonly record: Audit['record'];
  readonly log: Log;
  readonly changed: (sub: string) => void;
  /** Returns whether the administrator blocked a user. */
  readonly isBlocked: (sub: string) => boolean;
}
