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

/** What a file of authorities without a certificate is, after its name. */
export const NO_AUTHORITIES = 'has no certificate; write certificates of authorities in PEM form';

/** Whether the first certificate in a PEM text can be read. */
export const hasCertificate = (text: string): boolean => firstCertificate(text) !== undefined;
