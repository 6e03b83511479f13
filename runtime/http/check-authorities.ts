import { hasCertificate, NO_AUTHORITIES } from '#crds/parts/has-certificate';
import { ConfigError } from '#runtime/errors';

/**
 * Returns a PEM text of certificate authorities. Node ignores a text without certificates, and trusts its default authorities if the text
 * is empty. @throws ConfigError that names the file
 */
export function checkAuthorities(pem: string, file: string): string {
  if (hasCertificate(pem)) return pem;
  throw new ConfigError(`${file} ${NO_AUTHORITIES}`);
}
