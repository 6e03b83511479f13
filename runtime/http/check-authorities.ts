import { hasCertificate, NO_AUTHORITIES } from '#crds/parts/has-certificate';
import { ConfigError } from '#runtime/errors';

/** Node ignores text without certificates, and trusts its default authorities for an empty text. @throws ConfigError that names the file */
export function checkAuthorities(pem: string, file: string): string {
  if (hasCertificate(pem)) return pem;
  throw new ConfigError(`${file} ${NO_AUTHORITIES}`);
}
