import { X509Certificate } from 'node:crypto';

/** Returns the first certificate in a PEM text; undefined: it has none, or the first one cannot be read. */
export function firstCertificate(text: string): X509Certificate | undefined {
  const [first] = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/.exec(text) ?? [];
  try {
    return first === undefined ? undefined : new X509Certificate(first);
  } catch {
    return undefined;
  }
}

/** Completes a message that begins with the name of a file of authorities. */
export const NO_AUTHORITIES = 'has no certificate; write certificates of authorities in PEM form';

export const hasCertificate = (text: string): boolean => firstCertificate(text) !== undefined;
