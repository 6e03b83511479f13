import { isBlank } from '#crds/parts/primitives';
import type { Incoming } from '#crds/run-config/incoming';
import { ConfigError } from '#runtime/errors';
import { checkAuthorities } from '#runtime/http/check-authorities';
import { Jwks } from './key-set.ts';

/** Checks the files of boundary 1: an unusable file would make it accept no token. @throws ConfigError that names field and file */
export function checkIncomingFiles(incoming: Incoming, read: (file: string) => string): void {
  if (incoming.type !== 'oidc') return;
  const { ca_bundle_file: authorities, client_secret_file: secret, jwks_file: keys } = incoming;
  if (authorities !== undefined) checkAuthorities(read(authorities), `incoming.ca_bundle_file: ${authorities}`);
  if (secret !== undefined && isBlank(read(secret))) {
    throw new ConfigError(`incoming.client_secret_file: ${secret} is empty; write the secret of the client`);
  }
  if (keys !== undefined && !isKeySet(read(keys))) {
    throw new ConfigError(`incoming.jwks_file: ${keys} is no key set; write a JSON object with keys (RFC 7517)`);
  }
}

function isKeySet(text: string): boolean {
  try {
    return Jwks.safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}
