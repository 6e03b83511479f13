// @peculiar/x509 requires it before any other import.
import 'reflect-metadata';
import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  X509Certificate as Parsed,
} from '@peculiar/x509';

/** The certificates that the operator serves. All texts are PEM. */
export interface Certificates {
  /** Certificates of the authorities that clients trust, the newest first. */
  authorities: string;
  authorityKey: string;
  certificate: string;
  key: string;
}

const DAY = 24 * 60 * 60 * 1000;
const AUTHORITY_LIFESPAN = 730 * DAY;
const LIFESPAN = 90 * DAY;
/** A certificate is renewed with this part of its life left. */
const LEFT = 1 / 3;
/** Clocks of clients may be behind. */
const SKEW = 5 * 60 * 1000;
/** Milliseconds before a new authority signs, so that all clients trust it. Urgent signatures do not wait. */
const SPREAD = 10 * 60 * 1000;

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    .export({ format: 'pem', type: 'pkcs8' })
    .toString();
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' });
  return webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
}

const makeKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

const period = (now: number, lifespan: number) => ({
  notBefore: new Date(now - SKEW),
  notAfter: new Date(now + lifespan),
});

async function makeAuthority(now: number): Promise<{ certificate: string; key: string }> {
  const keys = await makeKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      // Two authorities of the same name could not be told apart.
      name: `CN=vmcp operator authority ${new Date(now).toISOString()}`,
      ...period(now, AUTHORITY_LIFESPAN),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ],
    },
    webcrypto,
  );
  return { certificate: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
}

async function makeCertificate(
  names: readonly string[],
  authority: { certificate: string; key: string },
  now: number,
): Promise<{ certificate: string; key: string }> {
  const keys = await makeKeys();
  const certificate = await X509CertificateGenerator.create(
    {
      subject: `CN=${names[0] ?? 'vmcp-operator'}`,
      issuer: new Parsed(authority.certificate).subject,
      ...period(now, LIFESPAN),
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey: await importKey(authority.key),
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value }))),
      ],
    },
    webcrypto,
  );
  return { certificate: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function parseAll(pem: string): X509Certificate[] {
  return (pem.match(CERTIFICATE) ?? []).flatMap((text) => {
    try {
      return [new X509Certificate(text)];
    } catch {
      return [];
    }
  });
}

const starts = (certificate: X509Certificate) => certificate.validFromDate.getTime();
const ends = (certificate: X509Certificate) => certificate.validToDate.getTime();

const isFresh = (certificate: X509Certificate, now: number) =>
  starts(certificate) <= now && ends(certificate) - now > (ends(certificate) - starts(certificate)) * LEFT;

function belongs(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function isUsable(
  certificate: X509Certificate | undefined,
  { key }: Certificates,
  authorities: X509Certificate[],
  names: readonly string[],
  now: number,
): certificate is X509Certificate {
  return (
    certificate !== undefined &&
    now < ends(certificate) &&
    belongs(certificate, key) &&
    authorities.some((authority) => certificate.verify(authority.publicKey)) &&
    names.every((name) => certificate.checkHost(name) !== undefined)
  );
}

async function renewAuthority(stored: Certificates, now: number): Promise<Certificates> {
  const all = parseAll(stored.authorities);
  const known = all.filter((authority) => ends(authority) > now);
  const texts = known.map((authority) => authority.toString().trim());
  const [newest] = known;
  if (newest && isFresh(newest, now) && belongs(newest, stored.authorityKey)) {
    return known.length === all.length ? stored : { ...stored, authorities: `${texts.join('\n')}\n` };
  }
  const made = await makeAuthority(now);
  return { ...stored, authorities: `${[made.certificate, ...texts].join('\n')}\n`, authorityKey: made.key };
}

async function renewCertificate(stored: Certificates, names: readonly string[], now: number): Promise<Certificates> {
  const authorities = parseAll(stored.authorities);
  const [newest] = authorities;
  const [present] = parseAll(stored.certificate);
  const usable = isUsable(present, stored, authorities, names, now);
  if (usable && isFresh(present, now)) return stored;
  if (!newest) throw new Error('there is no authority to sign the certificate');
  if (usable && now - (starts(newest) + SKEW) < SPREAD) return stored;
  const authority = { certificate: newest.toString(), key: stored.authorityKey };
  return { ...stored, ...(await makeCertificate(names, authority, now)) };
}

/** Renews expiring certificates at `now` (ms). Clients trust an authority well before it signs. Returns the same object if unchanged. */
export async function renewCertificates(
  stored: Certificates | undefined,
  names: readonly string[],
  now: number,
): Promise<Certificates> {
  const start = stored ?? { authorities: '', authorityKey: '', certificate: '', key: '' };
  return renewCertificate(await renewAuthority(start, now), names, now);
}
