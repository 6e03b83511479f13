import { z } from 'zod';
import { newId } from '../ids.ts';
import type { SecretRing } from '#runtime/keys/secret-ring';
import type { LegSecrets } from '../upstream/provider.ts';

const Secrets = z.object({ verifier: z.string(), nonce: z.string() });

/** Returns a new PKCE verifier (RFC 7636 §4.1) and nonce for one login step. */
export function newLegSecrets(): LegSecrets {
  return { verifier: newId(), nonce: newId() };
}

/** Seals the secrets of a login step. `aad` comes from `pendingAad`. */
export function sealLegSecrets(secrets: SecretRing, leg: LegSecrets, aad: string): string {
  return secrets.seal(JSON.stringify({ verifier: leg.verifier, nonce: leg.nonce }), aad);
}

/** Opens the secrets of a login step. @throws UnknownSecret, SealBroken */
export function openLegSecrets(secrets: SecretRing, sealed: string, aad: string): LegSecrets {
  return Secrets.parse(JSON.parse(secrets.open(sealed, aad).plain));
}
