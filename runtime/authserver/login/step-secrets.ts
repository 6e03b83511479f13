import { z } from 'zod';
import { newId } from '../ids.ts';
import type { SecretRing } from '#runtime/keys/secret-ring';
import type { StepSecrets } from '../upstream/provider.ts';

const Secrets = z.object({ verifier: z.string(), nonce: z.string() });

/** Returns a new PKCE verifier (RFC 7636 §4.1) and nonce for one login step. */
export function newStepSecrets(): StepSecrets {
  return { verifier: newId(), nonce: newId() };
}

export function sealStepSecrets(secrets: SecretRing, loginStep: StepSecrets, aad: string): string {
  return secrets.seal(JSON.stringify({ verifier: loginStep.verifier, nonce: loginStep.nonce }), aad);
}

/** Opens the secrets of a login step. @throws UnknownSecret, SealBroken */
export function openStepSecrets(secrets: SecretRing, sealed: string, aad: string): StepSecrets {
  return Secrets.parse(JSON.parse(secrets.open(sealed, aad).plain));
}
